"""The programs that a client may have started here, and the orders that it may give.

Law: the names are fixed; an order is read into the type of its program, and each of its values is
bounded; this server decides where a program listens, whom it accepts and what it writes. To add a
program, add a line to PROGRAMS.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tinygram.strategies import Strategy
from tinygram_bench.host.network.connections import Known
from tinygram_bench.host.network.settings import (
    allowed_congestion_controls,
    check_congestion_control,
)
from tinygram_bench.host.packages import missing_for_tls
from tinygram_bench.hosts.clock_server import ClockOrder
from tinygram_bench.hosts.difference import MOST_DRIFT, Difference
from tinygram_bench.loads.producers import MAX_POOL_BYTES, MAX_PRODUCERS
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.orders import Arrived, End, Start
from tinygram_bench.runs.slices import MOST_SLICES, Slices
from tinygram_bench.tls.certificates import ELSEWHERE, Identity, new_identity
from tinygram_bench.ways.rows import Row
from tinygram_bench.ways.runtimes import runtime
from tinygram_bench.workloads.echo import order as echo
from tinygram_bench.workloads.echo.marks import Mark
from tinygram_bench.workloads.echo.servers import server as echo_server
from tinygram_bench.workloads.fanout import order as fanout
from tinygram_bench.workloads.rr import order as rr
from tinygram_bench.workloads.rr.cases import MAX_BYTES as MAX_CALL_BYTES
from tinygram_bench.workloads.rr.serving import SERVERS as RR_SERVERS
from tinygram_bench.workloads.rr.serving import longest_backlog
from tinygram_bench.workloads.sizes import order as sizes
from tinygram_bench.workloads.sizes.cases import MAX_ALTERNATING
from tinygram_bench.workloads.sizes.server import MAX_MESSAGE_BYTES as MAX_SAMPLE_BYTES
from tinygram_bench.workloads.stream.order import Order, Pace, ReceiverOrder
from tinygram_bench.workloads.turns import ARRIVALS

_MAX_MESSAGES = 1 << 40
_MAX_MESSAGE_BYTES = 1 << 30
_MAX_BUFFER_BYTES = 1 << 30
_MAX_SEED = (1 << 64) - 1
_MAX_HOLD_NS = 10**10
_MAX_DURATION_NS = 10**15
_MAX_RATE_PER_S = 1e10
_MAX_BURST = 1_000_000
_MAX_CERTIFICATE_BYTES = 1 << 14
_MAX_TIME_NS = 1 << 61

T = TypeVar("T", bound=msgspec.Struct)


class RefusedError(Exception):
    """What a client asked for is not allowed here; the message says what is."""


class Here(Struct, frozen=True):
    """What this server fills into orders: its own address, and a process's files.

    `client`: how the client's data connections are known. `max_connections`: how many a process may
    have with its client, if no other one has any.
    """

    own_host: str
    client: Known
    files: tuple[int, ...]
    max_connections: int


class Program(Struct, frozen=True):
    """A module of ours, the order that it takes, and how the order is checked and filled in.

    `follow_ups`: types that may come after an order; none can be read as another one.
    """

    module: str
    kind: type[Any]
    bounded: Callable[[Any, Here], Any]
    follow_ups: tuple[type[Any], ...] = ()

    def order(self, raw: bytes, here: Here) -> object:
        """The order as its process gets it. Raises RefusedError."""
        for kind in self.follow_ups:
            with suppress(msgspec.DecodeError):
                return _follow_up(msgspec.json.decode(raw, type=kind))
        try:
            order = msgspec.json.decode(raw, type=self.kind)
        except msgspec.DecodeError as error:
            raise RefusedError(f"the order is none of {self.module}: {error}") from error
        return self.bounded(order, here)


def program(name: str) -> Program:
    """The program of that name. Raises RefusedError."""
    for known in PROGRAMS:
        if known.module == name:
            return known
    names = ", ".join(each.module for each in PROGRAMS)
    raise RefusedError(f"this server starts no {name!r}; the known ones are {names}")


def _follow_up(order: object) -> object:
    if isinstance(order, Start | fanout.Begin):
        _check("at_ns", order.at_ns, 0, _MAX_TIME_NS)
    if isinstance(order, fanout.Begin):
        _check("give_up_ns", order.give_up_ns, 0, _MAX_DURATION_NS)
        _check_slices(order.slices)
        if order.difference is not None:
            _check_difference(order.difference)
    return order


def _check_difference(difference: Difference) -> None:
    if not abs(difference.rate) <= MOST_DRIFT:
        raise RefusedError(f"rate {difference.rate} is outside ±{MOST_DRIFT}")


def _receiver(order: ReceiverOrder, here: Here) -> ReceiverOrder:
    _check("messages", order.messages, 1, _MAX_MESSAGES)
    _check("warm_up", order.warm_up, 0, order.messages)
    _check_messages(order)
    _check_connections(order.connections, here)
    _check("receive_buffer_bytes", order.receive_buffer_bytes, 1, _MAX_BUFFER_BYTES)
    _check_shared(order)
    _check_files(here, 2)
    notes_fd, turns_fd = here.files
    return replace(
        order,
        notes_fd=notes_fd,
        turns_fd=turns_fd,
        host=here.own_host,
        port=0,
        client=here.client,
        tls=_own_identity(order.tls),
    )


def _sender(order: Order, here: Here) -> Order:
    try:
        way = runtime(
            *(order.runtime, order.implementation, order.strategy, order.connections),
            tls=order.certificate is not None,
        )
    except LookupError as error:
        raise RefusedError(str(error)) from error
    _check_can_run(order.runtime, way)
    if order.certificate is not None:
        _check_has_tls()
    _check_strategy(order.strategy)
    _check("messages", order.messages, 1, _MAX_MESSAGES)
    _check("warm_up", order.warm_up, 0, _MAX_MESSAGES)
    _check_messages(order)
    if order.producers > 1 and not way.has_producers:
        raise RefusedError(f"{order.runtime} has one producer, and not {order.producers}")
    _check_connections(order.connections, here)
    _check("flat_out_burst", order.flat_out_burst, 1, BURST_MESSAGES)
    _check("spin_ns", order.spin_ns, 0, _MAX_HOLD_NS)
    _check("sleep_ns", order.sleep_ns, 0, _MAX_HOLD_NS)
    if order.pace is not None:
        _check_pace(order.pace)
    if order.slices is not None:
        _check_slices(order.slices)
    _check("bytes of the certificate", len(order.certificate or ""), 0, _MAX_CERTIFICATE_BYTES)
    _check_shared(order)
    _check_files(here, 1)
    return replace(
        order,
        report_fd=here.files[0],
        host=here.own_host,
        port=0,
        client=here.client,
        counter_fds=None,
    )


def _check_can_run(runtime: str, row: Row) -> None:
    missing = row.missing()
    if missing is not None:
        raise RefusedError(f"{runtime} cannot run on this server: {missing}")


def _check_encrypts(runtime: str, has_tls: bool, identity: Identity | None) -> None:
    if identity is not None and not has_tls:
        raise RefusedError(f"a server on {runtime} does not encrypt")


def _check_has_tls() -> None:
    missing = missing_for_tls()
    if missing is not None:
        raise RefusedError(f"on the far host, {missing}")


def _check_messages(order: Order | ReceiverOrder) -> None:
    _check("min_bytes", order.min_bytes, 1, order.max_bytes)
    _check("max_bytes", order.max_bytes, 1, _MAX_MESSAGE_BYTES)
    _check("producers", order.producers, 1, MAX_PRODUCERS)
    if order.producers > 1:
        _check("bytes of all producers", order.producers * order.max_bytes, 1, MAX_POOL_BYTES)


def _check_pace(pace: Pace) -> None:
    if not 0 < pace.rate_per_s <= _MAX_RATE_PER_S:
        raise RefusedError(f"rate_per_s {pace.rate_per_s} is outside 0 … {_MAX_RATE_PER_S:g}")
    _check_known("arrival", pace.arrival, ARRIVALS)
    _check("burst", pace.burst, 1, _MAX_BURST)
    _check("duration_ns", pace.duration_ns, 1, _MAX_DURATION_NS)
    _check("the schedule's seed", pace.seed, 0, _MAX_SEED)


def _check_slices(slices: Slices) -> None:
    _check("slices", len(slices.begins_ns), 1, MOST_SLICES)
    _check("slice_ns", slices.slice_ns, 1, _MAX_DURATION_NS)
    _check("settling_ns", slices.settling_ns, 0, slices.slice_ns - 1)
    _check("gap_ns", slices.gap_ns, 0, _MAX_DURATION_NS)
    _check("over_ns", slices.over_ns, 0, _MAX_DURATION_NS)
    least_ns = 0
    for begin_ns in slices.begins_ns:
        _check("the begin of a slice", begin_ns, least_ns, _MAX_DURATION_NS)
        least_ns = begin_ns + slices.slice_ns


def _rr_server(order: rr.ServerOrder, here: Here) -> rr.ServerOrder:
    _check_known("runtime", order.runtime, tuple(RR_SERVERS))
    server = RR_SERVERS[order.runtime]
    _check_can_run(order.runtime, server)
    _check_encrypts(order.runtime, server.has_tls, order.tls)
    _check_known("strategy", order.strategy, server.strategies)
    _check("request_bytes", order.request_bytes, 1, MAX_CALL_BYTES)
    _check("reply_bytes", order.reply_bytes, 1, MAX_CALL_BYTES)
    _check("backlog", order.backlog, 0, longest_backlog())
    if order.connections:
        _check_connections(order.connections, here)
    _check_shared(order)
    return _filled_in(replace(order, tls=_own_identity(order.tls)), here)


def _echo_server(order: echo.ServerOrder, here: Here) -> echo.ServerOrder:
    try:
        chosen = echo_server(order.runtime, order.implementation, order.server)
    except LookupError as error:
        raise RefusedError(str(error)) from error
    _check_can_run(order.runtime, chosen)
    _check_encrypts(order.runtime, chosen.has_tls, order.tls)
    _check_strategy(order.strategy)
    if not chosen.supports(order.strategy):
        raise RefusedError(f"strategy {order.strategy} is none of {order.server}")
    _check_known("reply", order.reply, echo.REPLIES)
    _check("message_bytes", order.message_bytes, 1, _MAX_MESSAGE_BYTES)
    _check("buffer_bytes", order.buffer_bytes, 0, _MAX_BUFFER_BYTES)
    _check_connections(order.connections, here)
    if order.fault is not None:
        _check_known("fault", order.fault, chosen.faults)
    _check_control(order.congestion_control)
    return _filled_in(replace(order, tls=_own_identity(order.tls)), here)


def _sizes_server(order: sizes.ServerOrder, here: Here) -> sizes.ServerOrder:
    _check("ports", order.ports, 1, MAX_ALTERNATING)
    _check("sample_bytes", order.sample_bytes, 0, MAX_SAMPLE_BYTES)
    _check_shared(order)
    return _filled_in(order, here)


def _subscribers(order: fanout.SubscribersOrder, here: Here) -> fanout.SubscribersOrder:
    _check("message_bytes", order.message_bytes, fanout.LEAST_BYTES, fanout.MOST_BYTES)
    _check_connections(order.subscribers, here)
    _check("timeout_ns", order.timeout_ns, 1, _MAX_DURATION_NS)
    _check_shared(order)
    _check_files(here, 1)
    return _filled_in(replace(order, report_fd=here.files[0]), here)


def _filled_in(order: T, here: Here) -> T:
    """The order with this server's own address and knowledge of the client, never the client's."""
    return replace(order, host=here.own_host, client=here.client)


def _check_files(here: Here, count: int) -> None:
    if len(here.files) != count:
        raise RefusedError(f"this program writes as many files as {count}")


def _check_connections(count: int, here: Here) -> None:
    if not 1 <= count <= here.max_connections:
        raise RefusedError(
            f"{count} connections are more than a client may have here, "
            f"{here.max_connections}: measure with fewer, or start the server with "
            "--max-connections"
        )


def _check_shared(
    order: Order | ReceiverOrder | rr.ServerOrder | sizes.ServerOrder | fanout.SubscribersOrder,
) -> None:
    if order.seed is not None:
        _check("seed", order.seed, 0, _MAX_SEED)
    _check_control(order.congestion_control)


def _check_control(name: str) -> None:
    try:
        check_congestion_control(name)
    except (UsageError, ValueError) as error:
        raise RefusedError(
            f"the far host gives its server no congestion control {name!r}, but "
            f"{', '.join(allowed_congestion_controls())}: name one of them with "
            "--congestion-control"
        ) from error


def _own_identity(asked: Identity | None) -> Identity | None:
    """A new identity where the client asks for one: no key goes over the wire."""
    if asked is None:
        return None
    if asked != ELSEWHERE:
        raise RefusedError("this server takes no key: its programs have keys that it makes")
    _check_has_tls()
    return new_identity()


def _check_strategy(strategy: Strategy) -> None:
    try:
        known = parse_strategy(str(strategy))
    except (UsageError, ValueError) as error:
        raise RefusedError(str(error)) from error
    _check("the strategy's duration", known.duration_ns or 0, 0, _MAX_HOLD_NS)
    if known != strategy:
        raise RefusedError(f"strategy {strategy} has other values than its name says")


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise RefusedError(f"{name} {value} is outside {least} … {most}")


def _check_known(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise RefusedError(f"unknown {name} {value!r}; the known ones are {', '.join(known)}")


_WORKLOADS = "tinygram_bench.workloads"
PROGRAMS = (
    Program(f"{_WORKLOADS}.stream.receiver", ReceiverOrder, _receiver),
    Program(f"{_WORKLOADS}.stream.sender", Order, _sender, (Start, Arrived)),
    Program(f"{_WORKLOADS}.rr.server", rr.ServerOrder, _rr_server, (End,)),
    Program(f"{_WORKLOADS}.echo.server", echo.ServerOrder, _echo_server, (Mark,)),
    Program(
        f"{_WORKLOADS}.fanout.subscribers",
        fanout.SubscribersOrder,
        _subscribers,
        (fanout.Begin,),
    ),
    Program(f"{_WORKLOADS}.sizes.server", sizes.ServerOrder, _sizes_server, (End,)),
    Program("tinygram_bench.hosts.clock_server", ClockOrder, _filled_in),
)
