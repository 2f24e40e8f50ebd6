"""From the options of `tinygram echo` to the cases of its plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from msgspec import Struct

from tinygram.strategies import Strategy
from tinygram_bench.host.packages import missing_for_tls
from tinygram_bench.links import parse_link
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.model.units import format_bytes
from tinygram_bench.statistics.workloads.loads import EXTERNAL
from tinygram_bench.workloads.available import parted
from tinygram_bench.workloads.echo import servers
from tinygram_bench.workloads.echo.selection import selected
from tinygram_bench.workloads.echo.servers import Server
from tinygram_bench.workloads.turns import in_turns, paced_name, warm_up_messages

DEFAULT_BUFFERS = (64 << 10,)
ALL_BUFFERS = (4 << 10, 16 << 10, 64 << 10, 256 << 10)
PUBLISHED_BUFFERS = (4 << 10, 8 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10)
UNKNOWN_STRATEGY = "unknown"


class External(Struct, frozen=True):
    """A server that is not ours: a program started for each run, or one that runs already.

    `command` None: it runs already.
    """

    host: str
    port: int
    command: str | None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def name(self) -> str:
        if self.command is None:
            return self.address
        return Path(shlex.split(self.command)[0]).name


class EchoOptions(Struct, frozen=True):
    """The options of `tinygram echo`. `messages` None: a run takes `duration_ns`.

    `slice_ns`: cases of a load take turns in slices of this length. `takes_turns`: without
    `slice_ns`, they do so where they have others beside them. `tls`: whether over TLS 1.3; both
    values: each server with and without it. `rates_per_s`: how many messages are due per second, of
    all workers together, a load for each; empty: each is sent when one has come back. `arrival`:
    how they are spread in time. `clients`: how many hosts of a cluster share the workers, always in
    turns; None: this host has all of them.
    """

    message_bytes: Sequence[int]
    workers: int
    depth: int
    reply: str
    buffers_bytes: Sequence[int]
    messages: int | None
    duration_ns: int
    fault: str | None
    external: External | None
    congestion_control: str
    link: str
    placement: str
    timeout_ns: int
    rounds: int
    seed: int
    has_all: bool
    only: Sequence[str] = ()
    runtimes: Sequence[str] = ()
    strategies: Sequence[str] = ()
    probe_ns: int | None = None
    slice_ns: int | None = None
    takes_turns: bool = False
    tls: Sequence[bool] = (False,)
    rates_per_s: Sequence[float] = ()
    arrival: str = "constant"
    clients: int | None = None


class _Row(Struct, frozen=True):
    """A server with a buffer of one size, honest or not. `buffer_bytes` None: its own choice."""

    runtime: str
    implementation: str
    server: str
    strategy: str
    buffer_bytes: int | None
    fault: str | None

    @property
    def name(self) -> str:
        """The server's name in tables: `recv_into:64KiB`, or `recv_into:64KiB:whole-buffer`."""
        parts = [self.server]
        if self.buffer_bytes is not None:
            parts.append(format_bytes(self.buffer_bytes))
        if self.fault is not None:
            parts.append(self.fault)
        return ":".join(parts)


def plan_echo(options: EchoOptions) -> Plan:
    """The plan; cases that cannot run here are in it as unavailable. Raises UsageError."""
    rows_by_tls = {tls: tuple(_rows(options, tls)) for tls in options.tls}
    if options.fault is not None and not any(row.fault for row in rows_by_tls[options.tls[0]]):
        raise UsageError(
            f"--faulty {options.fault} is for servers with a buffer made beforehand: recv_into and "
            "recvmsg_into of threads, epoll of native"
        )
    sizes = dict.fromkeys(options.message_bytes)
    rates: Sequence[float | None] = list(dict.fromkeys(options.rates_per_s)) or [None]
    asked = [
        _case(options, row, message_bytes, tls, rate_per_s)
        for message_bytes, tls, rate_per_s in product(sizes, options.tls, rates)
        for row in rows_by_tls[tls]
    ]
    cases, unavailable = parted(asked, missing)
    if options.takes_turns and options.slice_ns is None:
        lone_too = options.clients is not None
        clients = options.clients or 1
        cases = tuple(
            in_turns(cases, lambda case: least_message_ns(case, clients), lone_too=lone_too)
        )
    return Plan(cases, options.rounds, options.seed, unavailable)


def missing(case: Case) -> str | None:
    """Why the case cannot run on this host; None where it can. Raises LookupError."""
    parameters = EchoParameters.of(case)
    of_tls = missing_for_tls() if parameters.tls else None
    if case.runtime == EXTERNAL:
        return of_tls
    known = servers.server(case.runtime, case.implementation, parameters.server_kind)
    if not known.supports(parse_strategy(case.strategy)):
        raise LookupError(f"no {case.strategy} by {known.name} on {case.runtime}")
    return of_tls or known.missing()


def in_flight_ns(case: Case) -> int:
    """How many ns a message is on its way: its hold, and a round trip behind all in flight."""
    return held_ns(case) + _on_link_ns(case)


def held_ns(case: Case) -> int:
    """How many ns its server may hold a reply back; 0 where that is not known."""
    is_known = case.runtime != EXTERNAL
    return parse_strategy(case.strategy).duration_ns or 0 if is_known else 0


def _on_link_ns(case: Case) -> int:
    link = parse_link(case.link)
    on_link_ns = link.rtt_ns + 2 * link.jitter_ns
    if link.bandwidth_bits_per_s is not None:
        bytes_in_flight = case.connections * EchoParameters.of(case).depth * case.message_bytes.max
        on_link_ns += bytes_in_flight * 8 * 10**9 // link.bandwidth_bits_per_s
    return on_link_ns


def least_message_ns(case: Case, clients: int = 1) -> float:
    """The least ns from one message of a case to the next at each client: a slice has twenty.

    The client with the fewest workers has the lowest rate. Holds are not in it, so that all points
    of a sweep of holds take turns; where replies are held, a round's slices are longer.
    """
    due_ns = 0.0
    if case.rate_per_s is not None:
        workers = max(1, case.connections // clients)
        due_ns = 1e9 / (case.rate_per_s * workers / case.connections)
    return max(due_ns, _on_link_ns(case))


def _rows(options: EchoOptions, tls: bool) -> Iterator[_Row]:
    chosen = selected(
        options.only,
        options.runtimes,
        options.strategies,
        options.reply,
        has_all=options.has_all,
        has_external=options.external is not None,
        tls=tls,
    )
    for server, strategy, buffer in chosen:
        rows = tuple(_rows_of(options, server, strategy))
        matching = [row for row in rows if buffer is None or row.name == f"{server.name}:{buffer}"]
        if not matching:
            there = ", ".join(row.name for row in rows)
            raise UsageError(
                f"--only {server.name}:{buffer} is not measured here: there are {there}; name the "
                "size of the buffer with --buffer, and a fault with --faulty"
            )
        yield from matching
    if options.external is not None:
        yield _Row(EXTERNAL, EXTERNAL, options.external.name, UNKNOWN_STRATEGY, None, None)


def _rows_of(options: EchoOptions, server: Server, strategy: Strategy) -> Iterator[_Row]:
    faults: list[str | None] = [None]
    if options.fault in server.faults and strategy.name == "nodelay":
        faults.append(options.fault)
    buffers: Sequence[int | None] = [None]
    if server.has_buffer:
        buffers = list(dict.fromkeys(options.buffers_bytes))
    for buffer_bytes in buffers:
        for fault in faults:
            yield _Row(
                server.runtime,
                server.implementation,
                server.name,
                str(strategy),
                buffer_bytes,
                fault,
            )


def _case(
    options: EchoOptions, row: _Row, message_bytes: int, tls: bool, rate_per_s: float | None
) -> Case:
    external = options.external if row.runtime == EXTERNAL else None
    parameters = EchoParameters(
        server=row.name,
        server_kind=row.server,
        depth=options.depth,
        reply=options.reply,
        buffer_bytes=row.buffer_bytes,
        fault=row.fault,
        messages=options.messages,
        duration_ns=None if options.messages is not None else options.duration_ns,
        warm_up_messages=warm_up_messages(message_bytes, options.workers * options.depth),
        server_command=external.command if external else None,
        server_address=external.address if external else None,
        congestion_control=options.congestion_control,
        timeout_ns=options.timeout_ns,
        probe_ns=options.probe_ns,
        slice_ns=options.slice_ns,
        tls=tls,
    )
    load = f"{message_bytes}B/{options.workers}-workers-depth-{options.depth}/{options.reply}"
    if tls:
        load += "/tls"
    if rate_per_s is not None:
        load += f"/{paced_name(rate_per_s, options.arrival)}"
    if options.clients is not None:
        load += f"/{options.clients}-clients"
    return Case(
        case_id=f"echo/{row.runtime}/{row.implementation}/{row.name}/{row.strategy}"
        f"/{options.link}/{load}",
        workload="echo",
        runtime=row.runtime,
        implementation=row.implementation,
        strategy=row.strategy,
        link=options.link,
        message_bytes=MessageBytes(min=message_bytes, max=message_bytes),
        rate_per_s=rate_per_s,
        arrival=None if rate_per_s is None else options.arrival,
        burst=None if rate_per_s is None else 1,
        producers=1,
        connections=options.workers,
        placement=options.placement,
        parameters=parameters,
    )
