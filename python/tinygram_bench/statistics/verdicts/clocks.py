"""What the clocks of two hosts may be wrong by, in the ratio of two latencies.

Cases that took turns have the same error: it may change their ratio, and not which of them is
faster. Cases that ran alone may each be wrong in a direction of their own.
"""

from __future__ import annotations

from tinygram_bench.model.result import Figure, Summary
from tinygram_bench.statistics.figures.samples import Sample
from tinygram_bench.statistics.figures.words import in_words, rounded_up
from tinygram_bench.statistics.one_way import bound_on, with_common_error, with_own_errors
from tinygram_bench.statistics.verdicts.doubts import Doubt, took_turns_together
from tinygram_bench.statistics.workloads.loads import way_of

_MOST_SHARE = 0.999
"""A latency of which the clocks may be wrong by all is taken for a thousandth of itself at least,
so that every interval has an end."""


def with_clocks(
    figure: str, summaries: tuple[Summary, Summary], samples: tuple[Sample, Sample], ratio: Figure
) -> Figure:
    """The ratio case ÷ baseline, whose interval also holds what the clocks may be wrong by."""
    bounds_us = _bounds_us(figure, summaries)
    baseline, case = (summary.figures.get(figure) for summary in summaries)
    if not any(bounds_us) or baseline is None or case is None:
        return ratio
    if took_turns_together(*samples):
        most_us = min(max(bounds_us), _MOST_SHARE * min(baseline.median, case.median))
        return with_common_error(ratio, baseline.median, (most_us, max(bounds_us)))
    times_us = baseline.median, case.median
    capped = min(bounds_us[0], _MOST_SHARE * baseline.median), bounds_us[1]
    return with_own_errors(ratio, times_us, capped)


def clocks_doubt(figure: str, summaries: tuple[Summary, Summary]) -> Doubt:
    """The doubt where only the clocks keep two cases from being told apart."""
    of_baseline, of_case = map(rounded_up, _bounds_us(figure, summaries))
    baseline, case = (way_of(summary.case) for summary in summaries)
    return Doubt(
        "clocks_differ",
        f"each ran alone, and the clocks of the two hosts may be wrong by {of_case} µs in the "
        f"{in_words(figure)} of {case}, and by {of_baseline} µs in that of {baseline}: have them "
        "take turns (without --lone)",
    )


def _bounds_us(figure: str, summaries: tuple[Summary, Summary]) -> tuple[float, float]:
    baseline, case = (bound_on(summary.figures, figure) or 0.0 for summary in summaries)
    return baseline, case
