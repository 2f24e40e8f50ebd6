"""Counts of two results: what changed, beyond what each varies by itself (decision 0031).

Counts of code that decides by bytes and iterations (`nodelay`, `tick`) do not vary with the host.
Where time decides how messages gather, as flat out and where they are held, they do. So a count has
changed only where the ranges of both results' rounds are farther from each other than the wider of
them is wide: a count that does not vary has changed when it changes by anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from statistics import median

from tinygram_bench.model.result import Case, Figure, Result, Run
from tinygram_bench.statistics.changes.change import Change
from tinygram_bench.statistics.figures.samples import good_runs
from tinygram_bench.statistics.verdicts.doubts import MIN_PAIRED_ROUNDS
from tinygram_bench.statistics.workloads import WORKLOADS

COUNTED: Mapping[str, str] = {
    "writes": "writes",
    "segments": "data_segments",
    "bytes": "bytes",
    "records": "tls_records",
    "wire_bytes": "wire_bytes",
    "instructions": "instructions",
}
"""What is counted for each message, or call → the counter."""


def count_changes(before: Result, after: Result, cases: Sequence[Case]) -> tuple[Change, ...]:
    """Every count for each message, or call, of the `cases`, which both results have.

    A count that neither result has is left out.
    """
    good = [good_runs(each) for each in (before, after)]
    return tuple(
        _change(case, what, sides)
        for case in cases
        for what, counter in COUNTED.items()
        for sides in [[_per_unit(case, runs[case.case_id], counter) for runs in good]]
        if any(sides)
    )


def _per_unit(case: Case, runs: Sequence[Run], counter: str) -> list[float]:
    unit = WORKLOADS[case.workload].unit
    return [
        count / units
        for run in runs
        for count, units in [(run.counters.get(counter), run.counters.get(unit))]
        if count is not None and units
    ]


def _change(case: Case, what: str, sides: Sequence[Sequence[float]]) -> Change:
    reason = None
    for name, values in zip(("before", "after"), sides, strict=True):
        if not values:
            reason = f"{name} it was not counted"
        elif len(values) < MIN_PAIRED_ROUNDS:
            reason = f"{name} there are {len(values)} rounds, and {MIN_PAIRED_ROUNDS} are needed"
        elif not min(values) < max(values):
            continue
        elif not min(values):
            reason = f"{name} some rounds counted none, so there is no ratio"
    one = WORKLOADS[case.workload].one
    before, after = sides
    return Change(
        case=case,
        figure=f"{what}_per_{one}",
        kind="counts",
        before=_figure(before),
        after=_figure(after),
        ratio=_ratio(before, after) if reason is None else None,
        reason=reason,
    )


def _figure(values: Sequence[float]) -> Figure | None:
    return Figure(median(values), min(values), max(values)) if values else None


def _ratio(before: Sequence[float], after: Sequence[float]) -> Figure:
    """after ÷ before; its ends are those of the ranges, moved outwards by the wider one's width.

    A count that was 0 in every round is unchanged where it is 0 again; otherwise it has changed by
    more than any factor.
    """
    if not any(before) or not any(after):
        factor = 1.0 if not any((*before, *after)) else inf if any(after) else 0.0
        return Figure(factor, factor, factor)
    width = max(max(each) / min(each) for each in (before, after))
    return Figure(
        median=median(after) / median(before),
        low=min(after) / max(before) / width,
        high=max(after) / min(before) * width,
    )
