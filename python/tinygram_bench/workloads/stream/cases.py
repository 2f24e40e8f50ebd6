"""From the options of `tinygram stream` to the cases of its plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from tinygram.strategies import Strategy
from tinygram_bench import _native
from tinygram_bench.host.packages import missing_for_tls
from tinygram_bench.links.spec import parse_link
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import Direction, StreamParameters
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import MOST_SLICES, stream_slice_ns
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.available import parted
from tinygram_bench.workloads.only import Named, in_words, parse_only
from tinygram_bench.workloads.turns import in_turns, messages_ns, paced_name, warm_up_messages

_BURST_NS_PER_BYTE = 0.25
"""Flat out, large messages are sent no faster than 4 GB/s here."""
MOST_MESSAGES_IN_SLICES = 1_000_000_000
"""Flat out, a case ends with its slices, and sends fewer messages in several minutes."""


class StreamOptions(Struct, frozen=True):
    """The options of `tinygram stream`.

    `rates_per_s` empty: flat out. `takes_turns`: the cases of a load take turns in slices of
    `slice_ns`, None: as long as the load needs. A single case is alone, unless it is to last flat
    out for a time that was asked for (`lasts_as_asked`). `tls`: whether over TLS 1.3; both values:
    each way with and without it. `directions`: which end sends; both: at the same time. `clients`:
    how many hosts of a cluster share each load, always in turns; None: this host has it alone.
    """

    messages: int
    message_bytes: MessageBytes
    rates_per_s: Sequence[float]
    arrival: str
    burst: int
    duration_ns: int
    receive_buffer_bytes: int
    receiver_command: str | None
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
    producers: Sequence[int] = (1,)
    has_busy_thread: bool = False
    probe_ns: int | None = None
    slice_ns: int | None = None
    takes_turns: bool = False
    lasts_as_asked: bool = False
    tls: Sequence[bool] = (False,)
    directions: Sequence[Direction] = ("forward",)
    connections: Sequence[int] = (1,)
    clients: int | None = None


def plan_stream(options: StreamOptions) -> Plan:
    """The plan; cases that cannot run here are in it as unavailable. Raises UsageError."""
    asked: list[Case] = []
    rates: Sequence[float | None] = list(dict.fromkeys(options.rates_per_s)) or [None]
    producers_of_loads = dict.fromkeys(options.producers)
    for rate_per_s, producers, tls, connections in product(
        rates, producers_of_loads, options.tls, dict.fromkeys(options.connections)
    ):
        ways = _ways(options, producers, tls, connections)
        for (runtime, strategy), direction in product(ways, options.directions):
            case = _case(
                *(options, runtime, strategy, rate_per_s, producers, tls, connections, direction)
            )
            asked.append(case)
    cases, unavailable = parted(asked, missing)
    names = [case.case_id for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is requested twice: name each rate and strategy once")
    if options.takes_turns and options.slice_ns is None:
        cases = tuple(_in_turns(options, cases))
    return Plan(cases, options.rounds, options.seed, unavailable)


def missing(case: Case) -> str | None:
    """Why the case cannot run on this host; None where it can. Raises LookupError."""
    tls = StreamParameters.of(case).tls
    strategy = parse_strategy(case.strategy)
    of_way = runtimes.missing(case.runtime, case.implementation, strategy, tls=tls)
    return (missing_for_tls() if tls else None) or of_way


def _in_turns(options: StreamOptions, cases: Sequence[Case]) -> Iterator[Case]:
    """The cases in slices, but for those that are alone in their load, or have too little time."""
    timed = [case if case.rate_per_s else _for_a_time(options, case) for case in cases]
    clients = options.clients
    taking = in_turns(
        timed,
        lambda case: least_ns(case, clients or 1),
        lone_too=clients is not None or options.lasts_as_asked,
        least_slice_ns=lambda case: _least_slice_ns(case, clients or 1),
    )
    for alone, case in zip(cases, taking, strict=True):
        if case.parameters.slice_ns is not None:
            yield _in_whole_slices(options, case)
        elif options.lasts_as_asked and case.rate_per_s is None and clients is None:
            slice_ns = max(_least_slice_ns(case), messages_ns(least_ns(case)))
            raise UsageError(
                f"--duration {format_duration_ns(options.duration_ns)} is shorter than a slice of "
                f"{case.case_id}: allow {format_duration_ns(slice_ns)} or more, or name --messages "
                "in its place"
            )
        else:
            yield alone


def _least_slice_ns(case: Case, clients: int = 1) -> int:
    """The least length of a slice; in reverse a far sender can only be told MOST_SLICES of them."""
    asked = StreamParameters.of(case)
    told_ns = (asked.duration_ns or 0) / MOST_SLICES if asked.direction == "reverse" else 0
    share_per_s = None if case.rate_per_s is None else case.rate_per_s / clients
    return max(stream_slice_ns(share_per_s, case.burst or 1), math.ceil(told_ns))


def least_ns(case: Case, clients: int = 1) -> float:
    """The least ns that a message of a case takes at each client; a slice has twenty of them.

    The client with the fewest connections has the lowest rate. Over a link a message takes a round
    trip: congestion windows and acknowledgements need some. Flat out a burst counts as a message,
    because senders look at the clock after each burst, and one must not fill a slice.
    """
    message_ns = burst_ns(case)
    if case.rate_per_s is not None:
        share = case.connections // clients / case.connections
        message_ns = 1e9 / (case.rate_per_s * share)
    link = parse_link(case.link)
    return max(message_ns, link.rtt_ns + 2 * link.jitter_ns)


def burst_ns(case: Case) -> float:
    """The least ns that a burst of a case takes flat out."""
    return _BURST_NS_PER_BYTE * BURST_MESSAGES * case.message_bytes.max


def _in_whole_slices(options: StreamOptions, case: Case) -> Case:
    """The case with the messages that are due in its slices; those after the last are left out."""
    parameters = StreamParameters.of(case)
    slice_ns, duration_ns = parameters.slice_ns, parameters.duration_ns
    assert slice_ns is not None, "it takes turns"
    assert duration_ns is not None, "it lasts for a time"
    whole_ns = max(1, duration_ns // slice_ns) * slice_ns
    messages = parameters.messages
    if case.rate_per_s is not None:
        messages = _scheduled_messages(options, case.rate_per_s, whole_ns)
    return replace(case, parameters=replace(parameters, duration_ns=whole_ns, messages=messages))


def _for_a_time(options: StreamOptions, case: Case) -> Case:
    """The case flat out until its slices are over, in place of a number of messages."""
    parameters = StreamParameters.of(case)
    lasting = replace(parameters, messages=MOST_MESSAGES_IN_SLICES, duration_ns=options.duration_ns)
    return replace(case, parameters=lasting)


def _case(
    options: StreamOptions,
    runtime: runtimes.Runtime,
    strategy: Strategy,
    rate_per_s: float | None,
    producers: int,
    tls: bool,
    connections: int,
    direction: Direction,
) -> Case:
    size = options.message_bytes
    messages, duration_ns = options.messages, None
    if rate_per_s is not None:
        messages = _scheduled_messages(options, rate_per_s, options.duration_ns)
        duration_ns = options.duration_ns
    elif options.slice_ns is not None:
        messages, duration_ns = MOST_MESSAGES_IN_SLICES, options.duration_ns
    parameters = StreamParameters(
        messages=messages,
        warm_up_messages=warm_up_messages(size.max, connections),
        max_batch_bytes=runtime.max_batch_bytes,
        receive_buffer_bytes=options.receive_buffer_bytes,
        receiver_command=options.receiver_command,
        congestion_control=options.congestion_control,
        timeout_ns=options.timeout_ns,
        busy_thread=options.has_busy_thread,
        probe_ns=options.probe_ns,
        duration_ns=duration_ns,
        slice_ns=options.slice_ns,
        tls=tls,
        direction=direction,
        bidirectional=len(options.directions) > 1,
    )
    load = "flat-out"
    if rate_per_s is not None:
        load = f"{paced_name(rate_per_s, options.arrival)}-burst-{options.burst}"
    if producers > 1:
        load += f"/{producers}-producers"
    if connections > 1:
        load += f"/{connections}-connections"
    if options.has_busy_thread:
        load += "/busy-thread"
    if tls:
        load += "/tls"
    if parameters.bidirectional:
        load += f"/bidirectional/{direction}"
    elif direction != "forward":
        load += f"/{direction}"
    if options.clients is not None:
        load += f"/{options.clients}-clients"
    sizes = f"{size.min}B" if size.min == size.max else f"{size.min}..{size.max}B"
    case = Case(
        case_id=f"stream/{runtime.name}/{runtime.implementation}/{strategy}/{options.link}"
        f"/{sizes}/{load}",
        workload="stream",
        runtime=runtime.name,
        implementation=runtime.implementation,
        strategy=str(strategy),
        link=options.link,
        message_bytes=size,
        rate_per_s=rate_per_s,
        arrival=None if rate_per_s is None else options.arrival,
        burst=None if rate_per_s is None else options.burst,
        producers=producers,
        connections=max(connections, options.clients or 1),
        placement=options.placement,
        parameters=parameters,
    )
    return case if options.slice_ns is None else _in_whole_slices(options, case)


def _scheduled_messages(options: StreamOptions, rate_per_s: float, duration_ns: int) -> int:
    try:
        return _native.scheduled_messages(
            rate_per_s, options.arrival, options.burst, duration_ns, options.seed
        )
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--rate {rate_per_s:g} does not go with --duration and --burst: {error}"
        ) from error


def _ways(
    options: StreamOptions, producers: int, tls: bool, connections: int
) -> list[tuple[runtimes.Runtime, Strategy]]:
    """The ways that the options select: a way that is named runs even if it is no default.

    With several producers, only ways whose threads hand messages over. Raises UsageError.
    """
    found = (
        _named_ways(options.has_all, named, producers, tls, connections)
        for named in _parse_only(options)
    )
    return list(dict.fromkeys(way for ways in found for way in ways))


def _named_ways(
    has_all: bool, named: Named, producers: int, tls: bool, connections: int
) -> list[tuple[runtimes.Runtime, Strategy]]:
    strategies = list(dict.fromkeys(parse_strategy(text) for text in named["strategy"]))
    matching = [
        known
        for known in runtimes.runtimes_with(tls, connections)
        if (known.has_producers or producers == 1)
        and known.name in (named["runtime"] or [known.name])
        and known.implementation in (named["implementation"] or [known.implementation])
    ]
    asked = [known for known in matching if has_all or _is_asked(known, named, producers)]
    ways = []
    # A strategy that no way asked for has selects the matching ways that do have it.
    for candidates in (asked, matching):
        for known in candidates:
            defaults = map(parse_strategy, known.strategies if has_all else known.defaults)
            ways += [(known, s) for s in strategies or defaults if known.supports(s)]
        if ways:
            break
    if not ways:
        here = runtimes.runtimes_with(tls, connections)
        wanted = in_words(named) + (" over TLS" if tls else "")
        if connections > 1:
            wanted += f" on {connections} connections"
        if producers > 1:
            several = dict.fromkeys(known.name for known in here if known.has_producers)
            raise UsageError(
                f"no way is {wanted} with --producers {producers}: several producers are for "
                f"runtime={', '.join(several)}"
            )
        names = dict.fromkeys(known.name for known in here)
        there = "; ".join(f"{name}: {', '.join(_strategies_on(name, here))}" for name in names)
        others = [
            f"{known.name}/{known.implementation}/{strategy}"
            for known in here
            for strategy in strategies
            if known.name in named["runtime"] and known.supports(strategy)
        ]
        remedy = f"--only {others[0]} is one with that strategy" if others else f"there are {there}"
        raise UsageError(f"no way is {wanted}: {remedy}")
    return ways


def _is_asked(known: runtimes.Runtime, named: Named, producers: int) -> bool:
    if known.runs_when == "several":
        return producers > 1 or bool(named["implementation"])
    if known.runs_when == "either":
        return bool(named["runtime"] or named["implementation"])
    return known.runs_when == "always" or bool(named[known.runs_when])


def _strategies_on(runtime: str, here: Iterable[runtimes.Runtime]) -> Iterable[str]:
    return dict.fromkeys(
        text for known in here if known.name == runtime for text in known.strategies
    )


def _parse_only(options: StreamOptions) -> tuple[Named, ...]:
    known_runtimes = list(runtimes.RUNTIMES)
    if True in options.tls:
        known_runtimes.append(runtimes.LOOP_ON_KERNEL_TLS)
    if max(options.connections) > 1:
        known_runtimes += runtimes.ON_MANY
    known = {
        "runtime": sorted({runtime.name for runtime in known_runtimes}),
        "implementation": sorted({runtime.implementation for runtime in known_runtimes}),
    }
    return parse_only(
        options.only,
        known,
        "runtime=asyncio,strategy=nagle",
        runtimes=options.runtimes,
        strategies=options.strategies,
    )
