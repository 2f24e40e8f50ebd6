"""Which cases of `rr` are compared."""

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

    Native callers by io_uring are compared with those by epoll that have the same strategy.
    """
    alike: dict[Hashable, list[Case]] = defaultdict(list)
    for case in cases:
        alike[all_but_strategy(case)].append(case)
    for case in cases:
        others = [each for each in alike[all_but_strategy(case)] if each.implementation != IO_URING]
        wanted = (case.strategy,) if case.implementation == IO_URING else _BASELINES
        by_strategy = {each.strategy: each for each in reversed(others)}
        baseline = next((by_strategy[name] for name in wanted if name in by_strategy), None)
        if baseline is not None and case is not baseline:
            yield baseline.case_id, case.case_id


def all_but_strategy(case: Case) -> Hashable:
    """A key that is equal for cases that differ in their strategy alone."""
    return (
        case.runtime,
        case.link,
        case.message_bytes,
        case.rate_per_s,
        case.arrival,
        case.producers,
        case.connections,
        case.placement,
        case.parameters,
    )


def side_by_side(case: Case) -> Hashable:
    """A key that is equal for cases that differ in strategies alone, the server's too."""
    parameters = replace(RrParameters.of(case), server_strategy=None)
    return all_but_strategy(replace(case, parameters=parameters))
