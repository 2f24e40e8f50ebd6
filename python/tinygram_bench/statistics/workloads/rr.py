"""Which cases of `rr` take turns, and which are compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from msgspec.structs import replace

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case
from tinygram_bench.model.strategies import IO_URING

BASELINE = "nagle"
_BASELINES = (BASELINE, "nodelay")
"""The strategies, by hand, that others are compared with; the second where the first was not asked
for."""


def compared_pairs(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """(baseline, case): the same in everything else, by hand, with another strategy.

    The runtimes of callers are compared, too: each with the one that was named first, by the same
    strategy. Native callers by io_uring are compared with those by epoll alone.
    """
    alike: dict[Hashable, list[Case]] = defaultdict(list)
    firsts: dict[Hashable, Case] = {}
    for case in cases:
        alike[all_but_strategy(case)].append(case)
        if case.implementation != IO_URING:
            firsts.setdefault(_all_but_runtime(case), case)
    for case in cases:
        others = [each for each in alike[all_but_strategy(case)] if each.implementation != IO_URING]
        wanted = (case.strategy,) if case.implementation == IO_URING else _BASELINES
        by_strategy = {each.strategy: each for each in reversed(others)}
        baseline = next((by_strategy[name] for name in wanted if name in by_strategy), None)
        if baseline is not None and case is not baseline:
            yield baseline.case_id, case.case_id
        if case.implementation != IO_URING:
            first = firsts[_all_but_runtime(case)]
            if first is not case:
                yield first.case_id, case.case_id


def all_but_strategy(case: Case) -> Hashable:
    """A key that is equal for cases that differ in their strategy alone."""
    return case.runtime, _asked(case), case.parameters


def _all_but_runtime(case: Case) -> Hashable:
    """A key that is equal for cases whose callers differ in their runtime alone."""
    return case.strategy, _asked(case), case.parameters


def side_by_side(case: Case) -> Hashable:
    """A key that is equal for the cases of a load: callers and servers of any runtime and strategy.

    What else a case has is asked of it: sends, connections, a backlog, TLS and the like. Slices
    have one length for all that take turns, a few calls of the slowest: cases of which other things
    are asked, and whose calls take many times as long, would leave the others few.
    """
    of_any_server = replace(RrParameters.of(case), server_runtime="", server_strategy=None)
    return _asked(case), of_any_server


def _asked(case: Case) -> Hashable:
    """What is asked of callers, beside their parameters."""
    return (
        case.link,
        case.message_bytes,
        case.rate_per_s,
        case.arrival,
        case.producers,
        case.connections,
        case.placement,
    )
