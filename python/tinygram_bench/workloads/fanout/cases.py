"""From the options of `tinygram fanout` to the cases of its plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from tinygram.strategies import Strategy
from tinygram_bench.links import parse_link
from tinygram_bench.links.spec import REMOTE
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import FanoutParameters
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.runs.slices import LEAST_MESSAGES, MOST_SLICES
from tinygram_bench.workloads.available import parted
from tinygram_bench.workloads.fanout import publishing
from tinygram_bench.workloads.fanout.publishing import PUBLISHERS, Publisher
from tinygram_bench.workloads.fanout.slices import LEAST_PUBLICATIONS
from tinygram_bench.workloads.only import Named, in_words, parse_only
from tinygram_bench.workloads.turns import in_turns

_LEAST_DELIVERY_NS = 1_000
"""No publisher hands a message to a subscriber faster."""


class FanoutOptions(Struct, frozen=True):
    """The options of `tinygram fanout`; `rates_per_s`, of publications, empty: flat out.

    `slice_ns`: cases of a load take turns in slices of this length. `takes_turns`: without
    `slice_ns`, they do so where they have others beside them.
    """

    subscribers: Sequence[int]
    message_bytes: int
    rates_per_s: Sequence[float]
    arrival: str
    burst: int
    duration_ns: int
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


def plan_fanout(options: FanoutOptions) -> Plan:
    """The plan; cases that cannot run here are in it as unavailable. Raises UsageError."""
    asked: list[Case] = []
    rates: Sequence[float | None] = list(dict.fromkeys(options.rates_per_s)) or [None]
    ways = _ways(options)
    for subscribers in dict.fromkeys(options.subscribers):
        for rate_per_s in rates:
            for publisher, strategy in ways:
                asked.append(_case(options, publisher, strategy, subscribers, rate_per_s))
    cases, unavailable = parted(asked, missing)
    if options.takes_turns and options.slice_ns is None:
        cases = tuple(in_turns(cases, _message_ns))
    return Plan(cases, options.rounds, options.seed, unavailable)


def missing(case: Case) -> str | None:
    """Why the case cannot run on this host; None where it can. Raises LookupError."""
    name = FanoutParameters.of(case).server
    known = publishing.publisher(case.runtime, case.implementation, name)
    if not known.supports(parse_strategy(case.strategy)):
        raise LookupError(f"no {case.strategy} by {name} on {case.runtime}")
    return known.missing()


def least_slice_ns(case: Case) -> float:
    """The shortest slice with enough publications, in ns: at its rate, or at a fast publisher's."""
    burst = case.burst or 1
    publication_ns: float = _LEAST_DELIVERY_NS * case.connections * burst
    if case.rate_per_s is not None:
        publication_ns = burst * 1e9 / case.rate_per_s
    link = parse_link(case.link)
    return LEAST_PUBLICATIONS * max(publication_ns, link.rtt_ns + 2 * link.jitter_ns)


def _message_ns(case: Case) -> float:
    least_ns = least_slice_ns(case)
    if case.link == REMOTE:
        # Subscribers on another host can only be told so many slices.
        least_ns = max(least_ns, FanoutParameters.of(case).duration_ns / MOST_SLICES)
    return least_ns / LEAST_MESSAGES


def _case(
    options: FanoutOptions,
    publisher: Publisher,
    strategy: Strategy,
    subscribers: int,
    rate_per_s: float | None,
) -> Case:
    parameters = FanoutParameters(
        server=publisher.name,
        duration_ns=options.duration_ns,
        congestion_control=options.congestion_control,
        timeout_ns=options.timeout_ns,
        probe_ns=options.probe_ns,
        slice_ns=options.slice_ns,
    )
    load = "flat-out" if rate_per_s is None else f"{rate_per_s:.10g}-per-s-{options.arrival}"
    if options.burst > 1:
        load += f"-burst-{options.burst}"
    return Case(
        case_id=f"fanout/{publisher.runtime}/{publisher.implementation}/{publisher.name}/{strategy}"
        f"/{options.link}/{options.message_bytes}B/{subscribers}-subscribers/{load}",
        workload="fanout",
        runtime=publisher.runtime,
        implementation=publisher.implementation,
        strategy=str(strategy),
        link=options.link,
        message_bytes=MessageBytes(min=options.message_bytes, max=options.message_bytes),
        rate_per_s=rate_per_s,
        arrival=None if rate_per_s is None else options.arrival,
        burst=options.burst if options.burst > 1 or rate_per_s is not None else None,
        producers=1,
        connections=subscribers,
        placement=options.placement,
        parameters=parameters,
    )


def _ways(options: FanoutOptions) -> list[tuple[Publisher, Strategy]]:
    found = [way for named in _parse_only(options) for way in _named(named, options.has_all)]
    return list(dict.fromkeys(found))


def _named(named: Named, has_all: bool) -> Iterable[tuple[Publisher, Strategy]]:
    matching = [
        known
        for known in PUBLISHERS
        if known.runtime in (named["runtime"] or [known.runtime])
        and known.implementation in (named["implementation"] or [known.implementation])
        and known.name in (named["server"] or [known.name])
    ]
    ways = [
        (known, strategy)
        for known in matching
        for strategy in dict.fromkeys(
            map(
                parse_strategy,
                named["strategy"] or (known.strategies if has_all else known.defaults),
            )
        )
        if known.supports(strategy)
    ]
    if not ways:
        there = "; ".join(
            f"{known.runtime}/{known.implementation}/{known.name}: {', '.join(known.strategies)}"
            for known in PUBLISHERS
        )
        raise UsageError(f"no publisher is {in_words(named)}: there are {there}")
    return ways


def _parse_only(options: FanoutOptions) -> tuple[Named, ...]:
    known = {
        "runtime": [*dict.fromkeys(each.runtime for each in PUBLISHERS)],
        "implementation": [*dict.fromkeys(each.implementation for each in PUBLISHERS)],
        "server": [*dict.fromkeys(each.name for each in PUBLISHERS)],
    }
    return parse_only(
        options.only,
        known,
        "runtime=asyncio,server=protocol",
        runtimes=options.runtimes,
        strategies=options.strategies,
    )
