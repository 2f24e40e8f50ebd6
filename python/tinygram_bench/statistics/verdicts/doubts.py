"""Doubts: why no verdict is given on two cases, though both were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tinygram_bench.model.result import Figure, Summary
from tinygram_bench.statistics.workloads.loads import way_of

MIN_PAIRED_ROUNDS = 6
MAX_PACING_ERROR_SHARE = 0.25
"""The largest share of a latency, and of the difference between two."""
_PACING_ERROR_IN = {
    "latency_p50_us": "pacing_error_p50_us",
    "latency_p99_us": "pacing_error_p99_us",
}
"""Like is set against like: the error's median bears on the latency's, its p99 on the tail."""


class Doubt(NamedTuple):
    """`code`: that of the warning that bars the figure, or the doubt's own; `reason` in words."""

    code: str
    reason: str


def doubt_on(
    figure: str,
    summaries: tuple[Summary, Summary],
    ratios: Sequence[float],
    ratio: Figure | None,
) -> Doubt | None:
    """Why no verdict can be given on the baseline and the case; None where one can.

    `ratios`: case ÷ baseline of each round that has both; `ratio`: what they sum up to.
    """
    for summary in summaries:
        if not summary.rounds:
            return Doubt("no_rounds", f"{way_of(summary.case)} has no good round")
        if summary.figures.get(figure) is None:
            what = f"{way_of(summary.case)} has no {figure}: not known, or too few samples"
            return Doubt("no_figure", what)
    if len(ratios) < MIN_PAIRED_ROUNDS:
        rounds = "1 round has" if len(ratios) == 1 else f"{len(ratios)} rounds have"
        return Doubt("few_rounds", f"{rounds} both, and {MIN_PAIRED_ROUNDS} are needed")
    for summary in summaries:
        for warning in summary.warnings:
            if any(figure.startswith(prefix) for prefix in warning.figures):
                return Doubt(warning.code, f"{way_of(summary.case)}: {warning.message}")
    return None if ratio is None else _pacing_doubt(figure, summaries, ratio)


def _pacing_doubt(figure: str, summaries: tuple[Summary, Summary], ratio: Figure) -> Doubt | None:
    """The doubt where messages of one way were released later than those of the other.

    The bench causes that, and only one of the two latencies has it in it. On asyncio and uvloop the
    pacer sleeps to the end where a strategy holds messages back, and spins elsewhere (decision
    0002).
    """
    name = _PACING_ERROR_IN.get(figure, "")
    latency_us = summaries[0].figures[figure]
    errors_us = [summary.figures.get(name) for summary in summaries]
    if latency_us is None or None in errors_us:
        return None
    of_baseline_us, of_case_us = (error.median for error in errors_us if error is not None)
    difference_us = latency_us.median * _difference_in(ratio)
    later_us = abs(of_case_us - of_baseline_us)
    if later_us <= MAX_PACING_ERROR_SHARE * difference_us:
        return None
    late, other = (way_of(each.case) for each in summaries)
    if of_case_us > of_baseline_us:
        late, other = other, late
    return Doubt(
        "pacing_differs",
        f"the bench handed {late} its messages {later_us:.2g} µs later than {other}, which is over "
        "a quarter of the difference in latency",
    )


def _difference_in(ratio: Figure) -> float:
    """The difference as a share of the baseline; where it may be 0, its largest possible value."""
    if ratio.low <= 1 <= ratio.high:
        return max(1 - ratio.low, ratio.high - 1)
    return abs(ratio.median - 1)
