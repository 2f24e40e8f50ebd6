"""Which cases of `rr` are compared."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from msgspec.structs import replace

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case

BASELINE = "nagle"


def compared_pairs(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """(baseline, case): `nagle`, and the same in everything else with another strategy."""
    baselines = {all_but_strategy(case): case for case in cases if case.strategy == BASELINE}
    for case in cases:
        baseline = baselines.get(all_but_strategy(case))
        if baseline is not None and case is not baseline:
            yield baseline.case_id, case.case_id


def all_but_strategy(case: Case) -> Hashable:
    """A key that is equal for cases that differ in their strategy alone."""
    return (
        case.runtime,
        case.link,
        case.message_bytes,
        case.producers,
        case.connections,
        case.placement,
        case.parameters,
    )


def side_by_side(case: Case) -> Hashable:
    """A key that is equal for cases that differ in strategies alone, the server's too."""
    parameters = replace(RrParameters.of(case), server_strategy=None)
    return all_but_strategy(replace(case, parameters=parameters))
