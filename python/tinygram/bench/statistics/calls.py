"""Calls of `rr`: what is said of them, which cases are compared, and on what."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from tinygram.bench.result import Case

WORKLOAD = "rr"
HISTOGRAMS = {
    "call": ("min", "mean", "p50", "p99", "p99_9", "p99_99", "max"),
    "connect": ("mean", "p50", "p99", "max"),
}
COMPARED = ("calls_per_s", "call_p50_us", "call_p99_us")
BASELINE = "nagle"


def compared_calls(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """(baseline, case): `nagle`, and the same in everything else with another strategy."""
    of_calls = [case for case in cases if case.workload == WORKLOAD]
    baselines = {all_but_strategy(case): case for case in of_calls if case.strategy == BASELINE}
    for case in of_calls:
        baseline = baselines.get(all_but_strategy(case))
        if baseline is not None and case is not baseline:
            yield baseline.case_id, case.case_id


def all_but_strategy(case: Case) -> Hashable:
    """What two cases have in common that differ in nothing but their strategy."""
    return (
        case.runtime,
        case.link,
        case.message_bytes,
        case.producers,
        case.connections,
        case.placement,
        tuple(sorted(case.parameters.items())),
    )
