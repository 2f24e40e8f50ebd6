"""From the options of `tinygram rr` to the cases of its plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product

from msgspec import Struct

from tinygram_bench.host import packages
from tinygram_bench.links import parse_link
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.model.units import format_bytes
from tinygram_bench.workloads.available import parted
from tinygram_bench.workloads.rr.calling import BY_HAND, ON_MANY, RUNTIMES, Runtime
from tinygram_bench.workloads.rr.serving import MAX_CONNECTIONS, SERVERS
from tinygram_bench.workloads.turns import in_turns, paced_name

CONNECTIONS = ("per-request", "per-caller", "shared")
MANY = "many"
"""How a case names a number of connections, for which its callers have no thread each."""
STRATEGIES = BY_HAND
"""The strategies that are measured by default, and the known ones of servers."""
_USUAL_ON_MANY = ("nodelay", "adaptive")
MAX_BYTES = 16 << 20
"""The largest request, and the largest reply."""
_MOST_CONNECTIONS = 10_000
_MOST_BYTES_AT_ONCE = 256 << 20


class RrOptions(Struct, frozen=True):
    """The options of `tinygram rr`.

    `runtimes`, `strategies`: empty for the usual ones of each kind of connections. `connections`:
    each is one of CONNECTIONS, or a number. `processes` × `callers` call at a time; on a number of
    connections, there is a caller on each, in one process. `depth` None: as many as share a
    connection. `calls`: the most calls of each caller; None: until `duration_ns` is over.
    `server_address` (host, port): a server that runs already. `checks_replies`: compare their
    bytes; otherwise only count them. `probe_ns`: the interval at which what the kernel holds is
    sampled. `slice_ns`: cases take turns, in slices of at least this length. `takes_turns`: without
    `slice_ns`, they do so where they share a load. `tls`: whether over TLS 1.3; both values: each
    way of calling with and without it. `rates_per_s`: how many calls are due per second, of all
    callers together, a load for each; empty: each caller calls again as soon as it has its reply.
    `arrival`: how they are spread in time. `clients`: how many hosts of a cluster share the callers
    of each process, always in turns; None: this host has them all.
    """

    runtimes: Sequence[str] = ()
    strategies: Sequence[str] = ()
    connections: Sequence[str] = ("per-request", "per-caller")
    sends_per_request: Sequence[int] = (1, 10)
    servers: Sequence[str] = ("native",)
    server_strategies: Sequence[str] = ("nodelay",)
    backlogs: Sequence[int] = (1024,)
    has_quickack: bool = False
    server_address: tuple[str, int] | None = None
    request_bytes: int = 10_010
    reply_bytes: int = 2
    checks_replies: bool = True
    processes: int = 2
    callers: int = 100
    depth: int | None = None
    warm_up_calls: int = 3
    calls: int | None = None
    duration_ns: int = 1_000_000_000
    slice_ns: int | None = None
    takes_turns: bool = False
    probe_ns: int | None = None
    congestion_control: str = "cubic"
    link: str = "loopback"
    placement: str = "apart"
    timeout_ns: int = 120_000_000_000
    rounds: int = 7
    seed: int = 1
    tls: Sequence[bool] = (False,)
    rates_per_s: Sequence[float] = ()
    arrival: str = "constant"
    clients: int | None = None


def plan_rr(options: RrOptions) -> Plan:
    """The plan; cases that cannot run here are in it as unavailable. Raises UsageError."""
    _check(options)
    asked: list[Case] = []
    is_elsewhere = options.server_address is not None
    kinds = dict.fromkeys(options.connections)
    _check_runtimes(options, kinds)
    ways = {(tls, kind): _ways(options, kind, tls) for tls in options.tls for kind in kinds}
    rates: Sequence[float | None] = list(dict.fromkeys(options.rates_per_s)) or [None]
    for rate_per_s, tls, connections, sends, server, server_strategy, backlog in product(
        rates,
        options.tls,
        kinds,
        dict.fromkeys(options.sends_per_request),
        ("elsewhere",) if is_elsewhere else dict.fromkeys(options.servers),
        (None,) if is_elsewhere else dict.fromkeys(options.server_strategies),
        (None,) if is_elsewhere else dict.fromkeys(options.backlogs),
    ):
        for runtime, strategy in ways[tls, connections]:
            case = _case(
                options,
                connections,
                sends,
                runtime,
                server,
                server_strategy,
                backlog,
                strategy,
                tls,
                rate_per_s,
            )
            asked.append(case)
    cases, unavailable = parted(asked, missing)
    if options.takes_turns and options.slice_ns is None:
        lone_too = options.clients is not None
        clients = options.clients or 1
        cases = tuple(in_turns(cases, lambda case: least_call_ns(case, clients), lone_too=lone_too))
    return Plan(cases, options.rounds, options.seed, unavailable)


def least_call_ns(case: Case, clients: int = 1) -> float:
    """The least ns from one call of a case to the next at each client: a slice has twenty.

    The client with the fewest callers has the lowest rate.
    """
    between_ns = 0.0
    if case.rate_per_s is not None:
        callers = RrParameters.of(case).callers_per_process
        between_ns = 1e9 / (case.rate_per_s * max(1, callers // clients) / callers)
    return max(between_ns, parse_link(case.link).rtt_ns)


def missing(case: Case) -> str | None:
    """Why the case cannot run on this host; None where it can. Raises LookupError."""
    parameters = RrParameters.of(case)
    there = ON_MANY if parameters.connections == MANY else RUNTIMES
    known = there.get(f"{case.runtime}/{case.implementation}") or there.get(case.runtime)
    if known is None or not known.supports(parse_strategy(case.strategy)):
        raise LookupError(f"no callers by {case.strategy} on {case.runtime}")
    server = SERVERS.get(parameters.server_runtime)
    if parameters.server_address is None and server is None:
        raise LookupError(f"no server on {parameters.server_runtime}")
    of_tls = packages.missing_for_tls() if parameters.tls else None
    of_server = None if server is None else server.missing()
    return of_tls or of_server or known.missing()


def _case(
    options: RrOptions,
    connections: str,
    sends: int,
    runtime: str,
    server: str,
    server_strategy: str | None,
    backlog: int | None,
    strategy: str,
    tls: bool,
    rate_per_s: float | None,
) -> Case:
    depth = options.depth if connections == "shared" else None
    address = options.server_address
    number = number_of(connections)
    processes, each = (options.processes, options.callers) if number is None else (1, number)
    parameters = RrParameters(
        connections=connections if number is None else MANY,
        sends_per_request=sends,
        reply_bytes=options.reply_bytes,
        checks_replies=options.checks_replies,
        processes=processes,
        callers_per_process=each,
        depth=options.callers if connections == "shared" and depth is None else depth,
        server_runtime=server,
        server_address=None if address is None else f"{address[0]}:{address[1]}",
        server_strategy=server_strategy,
        quickack=options.has_quickack,
        backlog=backlog,
        warm_up_calls=options.warm_up_calls,
        calls=options.calls,
        duration_ns=options.duration_ns if options.calls is None else None,
        congestion_control=options.congestion_control,
        timeout_ns=options.timeout_ns,
        probe_ns=options.probe_ns,
        slice_ns=options.slice_ns,
        tls=tls,
    )
    is_library = strategy not in BY_HAND
    callers = processes * each
    runtime_name, _, implementation = runtime.partition("/")
    if not implementation:
        implementation = "tinygram" if runtime == "native" or is_library else "stdlib"
    return Case(
        case_id="/".join(
            (
                f"rr/{runtime}/{strategy}/{options.link}",
                f"{options.request_bytes}B-{options.reply_bytes}B",
                (connections if number is None else f"{number}-connections")
                + (f"-{depth}" if depth is not None else ""),
                f"{sends}-sends/{processes}x{each}/{server}",
                *(() if server_strategy is None else (f"{server_strategy}/backlog-{backlog}",)),
                *(("quickack",) if options.has_quickack else ()),
                *(() if options.checks_replies else ("unchecked-replies",)),
                *(("tls",) if tls else ()),
                *(() if rate_per_s is None else (paced_name(rate_per_s, options.arrival),)),
                *(() if options.clients is None else (f"{options.clients}-clients",)),
            )
        ),
        workload="rr",
        runtime=runtime_name,
        implementation=implementation,
        strategy=strategy,
        link=options.link,
        message_bytes=MessageBytes(options.request_bytes, options.request_bytes),
        rate_per_s=rate_per_s,
        arrival=None if rate_per_s is None else options.arrival,
        burst=None if rate_per_s is None else 1,
        producers=callers,
        connections=(options.clients or 1) * processes if connections == "shared" else callers,
        placement=options.placement,
        parameters=parameters,
    )


def number_of(connections: str) -> int | None:
    """The number of connections in `--connections`; None for one of CONNECTIONS."""
    return int(connections) if re.fullmatch("0|[1-9][0-9]{0,8}", connections) else None


def _runtimes(connections: str) -> dict[str, Runtime]:
    return RUNTIMES if number_of(connections) is None else ON_MANY


def _check_runtimes(options: RrOptions, kinds: Iterable[str]) -> None:
    """Raise UsageError where a runtime that was asked for has no row for any of these kinds."""
    there = list(dict.fromkeys(name for kind in kinds for name in _runtimes(kind)))
    for name in options.runtimes or ():
        if name not in there:
            raise _no_callers(name, ", ".join(kinds), there)


def _no_callers(runtime: str, connections: str, there: Iterable[str]) -> UsageError:
    return UsageError(
        f"--runtime {runtime!r} has no callers for --connections {connections}: the known ones are "
        f"{', '.join(there)}"
    )


def _ways(options: RrOptions, connections: str, tls: bool) -> list[tuple[str, str]]:
    """Each runtime with each strategy that it has on these connections. Raises UsageError."""
    there = _runtimes(connections)
    is_many = there is ON_MANY
    usual = [name for name, known in ON_MANY.items() if known.has_tls or not tls]
    asked = options.runtimes or (usual if is_many else ("threads",))
    runtimes = [name for name in dict.fromkeys(asked) if name in there]
    if not runtimes:
        raise _no_callers(asked[0], connections, there)
    texts = options.strategies or (_USUAL_ON_MANY if is_many else STRATEGIES)
    strategies = {text: parse_strategy(text) for text in texts}
    for text in options.strategies or ():
        if not any(there[runtime].supports(strategies[text]) for runtime in runtimes):
            others = "; ".join(
                f"{runtime}: {', '.join(known.strategies)}" for runtime, known in there.items()
            )
            raise UsageError(
                f"--strategy {text!r} is unknown to callers on {', '.join(runtimes)}: the known "
                f"ones are {others}"
            )
    return [
        (runtime, str(strategy))
        for runtime in runtimes
        for strategy in dict.fromkeys(strategies.values())
        if there[runtime].supports(strategy)
    ]


def _check_tls(options: RrOptions) -> None:
    for runtime in options.runtimes:
        if not _KNOWN[runtime].has_tls:
            there = ", ".join(name for name, known in RUNTIMES.items() if known.has_tls)
            raise UsageError(f"--runtime {runtime} does not encrypt: with --tls there are {there}")
    for server in options.servers:
        if not SERVERS[server].has_tls:
            there = " and ".join(name for name, known in SERVERS.items() if known.has_tls)
            raise UsageError(
                f"--server-runtime {server} does not encrypt: with --tls there are {there}"
            )
    if "threads" in (options.runtimes or ("threads",)) and "shared" in options.connections:
        raise UsageError(
            "--connections shared is not for --runtime threads with --tls: an encrypted connection "
            "of OpenSSL is for one thread at a time; name --runtime asyncio"
        )


_KNOWN = RUNTIMES | ON_MANY


def _check(options: RrOptions) -> None:
    for option, values, known in (
        ("--runtime", options.runtimes, _KNOWN),
        ("--server-runtime", options.servers, SERVERS),
        ("--server-strategy", options.server_strategies, STRATEGIES),
    ):
        for value in values:
            if value not in known:
                raise UsageError(
                    f"unknown {option} {value!r}: the known ones are {', '.join(known)}"
                )
    for connections in options.connections:
        _check_connections(options, connections)
    if True in options.tls:
        _check_tls(options)
    for sends in options.sends_per_request:
        if not 1 <= sends <= options.request_bytes:
            raise UsageError(
                f"--sends-per-request {sends} is outside 1 … {options.request_bytes}: each send "
                "has a byte of the request at least"
            )
    most = MAX_CONNECTIONS // 2
    if options.processes * options.callers > most:
        raise UsageError(
            f"--callers {options.processes}x{options.callers} is more than {most} callers: name "
            "fewer, or --connections with a number"
        )
    if options.depth is not None and "shared" not in options.connections:
        raise UsageError("--depth is for shared connections: add --connections shared")
    if options.depth is not None and not 1 <= options.depth <= options.callers:
        raise UsageError(
            f"--depth {options.depth} is outside 1 … {options.callers}, the callers that share a "
            "connection"
        )


def _check_connections(options: RrOptions, connections: str) -> None:
    number = number_of(connections)
    if number is None:
        if connections not in CONNECTIONS:
            raise UsageError(
                f"unknown --connections {connections!r}: the known ones are "
                f"{', '.join(CONNECTIONS)}, and numbers from 1 to {_MOST_CONNECTIONS}"
            )
        return
    if not 1 <= number <= _MOST_CONNECTIONS:
        raise UsageError(f"--connections {connections} is outside 1 … {_MOST_CONNECTIONS}")
    size = max(options.request_bytes, options.reply_bytes)
    if number * size > _MOST_BYTES_AT_ONCE:
        raise UsageError(
            f"--connections {number} with requests or replies of {format_bytes(size)}: one for "
            "each may take 256 MiB together, so ask for fewer connections or smaller ones"
        )
