"""What the clocks of two hosts may be wrong by, in the ratio of two latencies.

Cases that took turns have the same error: it may change their ratio, and not which of them is
faster. Each of two cases that ran alone may be wrong in a direction of its own. Where messages
seemed to come before they were sent, a time counts as 0, and has no ratio to any other.
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
    if baseline.median <= 0 or case.median <= 0:
        # The clocks may be wrong by all of it: a ratio to nothing has no bound, and shows nothing.
        return Figure(ratio.median, min(ratio.low, 1.0), max(ratio.high, 1.0))
    if took_turns_together(*samples):
        most_us = min(max(bounds_us), _MOST_SHARE * min(baseline.median, case.median))
        return with_common_error(ratio, baseline.median, (most_us, max(bounds_us)))
    times_us = baseline.median, case.median
    capped = min(bounds_us[0], _MOST_SHARE * baseline.median), bounds_us[1]
    return with_own_errors(ratio, times_us, capped)


def nothing_doubt(
    figure: str, summaries: tuple[Summary, Summary], samples: tuple[Sample, Sample]
) -> Doubt | None:
    """The doubt where some of the times that are compared count as 0.

    They are of the fastest slices, or rounds: to compare the others would be to choose by the
    outcome.
    """
    bound_us = max(_bounds_us(figure, summaries))
    if not bound_us:
        return None
    took_turns = took_turns_together(*samples)
    for sample in samples:
        times_us = _times_us(figure, sample, in_slices=took_turns)
        count = sum(us <= 0 for us in times_us)
        if count:
            return Doubt(
                "clocks_differ",
                f"{count} of {len(times_us)} values of the {in_words(figure)} of "
                f"{way_of(sample.case)} count as 0: messages seemed to come before they were sent, "
                f"for the clocks of the two hosts may be wrong by {rounded_up(bound_us)} µs; a "
                "single clock times rr and echo",
            )
    return None


def _times_us(figure: str, sample: Sample, *, in_slices: bool) -> list[float]:
    """The values that are compared: of slices, or blocks of them, or else of rounds."""
    if not in_slices:
        return list(sample.values(figure).values())
    return [us for values in sample.slices(figure).values() for us in values if us is not None]


def clocks_doubt(
    figure: str, summaries: tuple[Summary, Summary], samples: tuple[Sample, Sample]
) -> Doubt:
    """The doubt where only the clocks keep two cases from being told apart."""
    of_baseline, of_case = map(rounded_up, _bounds_us(figure, summaries))
    baseline, case = (way_of(summary.case) for summary in summaries)
    wrong = (
        f"the clocks of the two hosts may be wrong by {of_case} µs in the {in_words(figure)} of "
        f"{case}, and by {of_baseline} µs in that of {baseline}"
    )
    if not took_turns_together(*samples):
        wrong = f"each ran alone, and {wrong}: have them take turns (without --lone)"
    return Doubt("clocks_differ", wrong)


def _bounds_us(figure: str, summaries: tuple[Summary, Summary]) -> tuple[float, float]:
    baseline, case = (bound_on(summary.figures, figure) or 0.0 for summary in summaries)
    return baseline, case
