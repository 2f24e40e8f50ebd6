"""Doubts: why no verdict is given on two cases, though both were measured.

A doubt of two modes is in the size of a difference alone (decision 0053).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, ulp
from statistics import median
from typing import NamedTuple

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Figure, Summary, Warning
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.modes import (
    MIN_KIND_SHARE,
    Modes,
    find_kinds,
    find_modes,
)
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.figures.samples import Sample
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.link_warnings import STOOD_STILL_US
from tinygram_bench.statistics.workloads.loads import turns_taken, way_of

MIN_PAIRED_ROUNDS = 6
MAX_PACING_ERROR_SHARE = 0.25
"""The largest pacing error, as a share of a latency, and of the difference between two."""
_PERCENTILES = {"_p50_us": 50.0, "_p99_us": 99.0, "_p99_9_us": 99.9}
"""The ending of a figure that includes lateness of the link or the pacer → the percentile of that
lateness with which it is compared: like is set against like."""
_MOST_STOPS_APART = 0.05
"""How much the links of two cases may differ in how often they stood still, as a share of a
figure's values: of its slices, or of its blocks of slices."""
_MET_ALIKE = ("pacing_error", "link_late", "two_modes")
"""Warnings of what the host did. Where cases took turns, the host did it to both: their ratio is
judged."""


class Doubt(NamedTuple):
    """`code`: that of the warning that bars the figure, or the doubt's own; `reason`: in words.

    `span`: the least and the greatest ratio where there are two modes, so that only the size of the
    difference is in doubt; None: there is no verdict.
    """

    code: str
    reason: str
    span: tuple[float, float] | None = None


def doubt_on(
    figure: str,
    summaries: tuple[Summary, Summary],
    samples: tuple[Sample, Sample],
    ratios: Sequence[float],
    ratio: Figure | None,
) -> Doubt | None:
    """Why no verdict can be given on the baseline and the case, or none on the size of their
    difference; None where one can.

    `ratios`: case ÷ baseline of each round that has both; `ratio`: their median and its interval.
    """
    took_turns = took_turns_together(*samples)
    for summary in summaries:
        if not summary.rounds:
            return Doubt("no_rounds", f"{way_of(summary.case)} has no good round")
        if summary.figures.get(figure) is None:
            what = f"{way_of(summary.case)} has no {in_words(figure)}"
            return Doubt("no_figure", f"{what}: not known, or too few samples")
    if not ratios and took_turns and not any(cycle_ratios(*samples, figure)):
        ways = " and ".join(way_of(each.case) for each in summaries)
        what = f"the slices of {ways} are too few, or have too few messages, for {in_words(figure)}"
        return Doubt("too_few_messages", f"{what}: allow more time (--duration)")
    if took_turns and not all(map(is_known, map(median, cycle_ratios(*samples, figure)))):
        ways = " or ".join(way_of(each.case) for each in summaries)
        return Doubt("nothing_came", f"in most slices of a round nothing came to {ways}")
    if len(ratios) < MIN_PAIRED_ROUNDS:
        rounds = "1 round has" if len(ratios) == 1 else f"{len(ratios)} rounds have"
        return Doubt("few_rounds", f"{rounds} both, and {MIN_PAIRED_ROUNDS} are needed")
    for summary in summaries:
        warning = barring(figure, summary, took_turns=took_turns)
        if warning is not None:
            return Doubt(warning.code, f"{way_of(summary.case)}: {warning.message}")
    if ratio is None:
        return None
    modes = _modes_doubt(figure, summaries, samples, ratios) if took_turns else None
    if modes is not None and modes.span is not None:
        ratio = _nearest_to_1(modes.span)
    doubt = _pacing_doubt(figure, summaries, samples, ratio)
    if doubt is None and took_turns:
        doubt = _lateness_doubt(figure, summaries, samples, ratio) or _stops_doubt(figure, samples)
    return doubt or modes


def took_turns_together(baseline: Sample, case: Sample) -> bool:
    """Whether the two took turns with each other, so that their slices lie side by side.

    Points of a sweep may have slices of another length than what they are compared with.
    """
    return (
        baseline.took_turns
        and case.took_turns
        and turns_taken(baseline.case, baseline.good_runs) == turns_taken(case.case, case.good_runs)
    )


def barring(
    figure: str, summary: Summary, *, took_turns: bool, but_for: str | None = None
) -> Warning | None:
    """The first warning because of which the figure gets no verdict; None: it may get one.

    `but_for`: the code of a warning to ignore, because it is told apart.
    """
    for warning in summary.warnings:
        if (took_turns and warning.code in _MET_ALIKE) or warning.code == but_for:
            continue
        if any(figure.startswith(prefix) for prefix in warning.figures):
            return warning
    return None


def cycle_ratios(baseline: Sample, case: Sample, figure: str) -> Iterator[tuple[float, ...]]:
    """case ÷ baseline of each cycle that has both, round by round; rounds without any left out.

    For what comes in a time, the ratio is 0 or infinite where nothing came to one of the two: to
    leave such a cycle out would be to choose by the outcome. A cycle in which nothing came to
    either says nothing of their ratio; nor does a time that is 0 or less, because of which there is
    no verdict (`nothing_doubt` in clocks.py).
    """
    of_baseline, of_case = baseline.slices(figure), case.slices(figure)
    least = 0.0 if is_higher_better(figure) else ulp(0.0)
    for number in of_case:
        pairs = zip(of_baseline.get(number, ()), of_case[number], strict=number in of_baseline)
        known = [
            (below, above) for below, above in pairs if below is not None and above is not None
        ]
        ratios = tuple(
            above / below if below else inf
            for below, above in known
            if min(below, above) >= least and max(below, above) > 0
        )
        if ratios:
            yield ratios


def is_known(ratio: float) -> bool:
    """Whether something came to both cases in the cycle, or in most cycles of the round."""
    return 0 < ratio < inf


def _modes_doubt(
    figure: str,
    summaries: tuple[Summary, Summary],
    samples: tuple[Sample, Sample],
    ratios: Sequence[float],
) -> Doubt | None:
    """The doubt where the rounds' ratios have two modes, or the cycles of rounds are of two kinds.

    The median then only tells which of the two came up more often, and is the size of nothing. Its
    span holds every round, and both kinds: where it leaves out 1, that changes nothing about which
    case is faster.
    """
    modes, kinds = find_modes(ratios), _kinds(figure, samples)
    if modes is None and not kinds:
        return None
    told, of = (kinds[0], "cycles of a round") if modes is None else (modes, "rounds")
    lower, upper = (f"near {median(group):.3g} in {len(group)} {of}" for group in told)
    baseline, case = (way_of(each.case) for each in summaries)
    held = [*ratios, *(median(group) for each in kinds for group in each)]
    reason = f"two modes in {case} ÷ {baseline}: {lower}, {upper}"
    span = None if _is_nothing_a_kind(figure, samples) else (min(held), max(held))
    return Doubt("two_modes", reason, span)


def _is_nothing_a_kind(figure: str, samples: tuple[Sample, Sample]) -> bool:
    """Whether a round has a third kind of cycles, in which nothing came to one of the two."""
    return any(
        sum(not is_known(each) for each in ratios) >= MIN_KIND_SHARE * len(ratios)
        for ratios in cycle_ratios(*samples, figure)
    )


def _kinds(figure: str, samples: tuple[Sample, Sample]) -> list[Modes]:
    """The two kinds of cycles of each round that has them; none where less than half have them.

    An example is a case whose slices run sometimes on one core and sometimes on two. Single samples
    vary by themselves, and are not looked at.
    """
    if samples[1].case.parameters.slice_ns is None:
        return []
    kinds = [
        find_kinds(list(filter(is_known, ratios))) for ratios in cycle_ratios(*samples, figure)
    ]
    found = [each for each in kinds if each is not None]
    return found if 2 * len(found) >= len(kinds) else []


def _nearest_to_1(span: tuple[float, float]) -> Figure:
    """The ratio at the end nearer to 1: the bench must not explain that difference either."""
    return Figure(min(span, key=lambda end: abs(end - 1)), *span)


def _pacing_doubt(
    figure: str, summaries: tuple[Summary, Summary], samples: tuple[Sample, Sample], ratio: Figure
) -> Doubt | None:
    """The doubt where messages of one way were released later than those of the other.

    The bench causes that, and it is in only one of the two latencies. On asyncio and uvloop the
    pacer sleeps to the end where a strategy holds messages back, and spins elsewhere (decision
    0002). For cases that took turns, this is judged as their latencies are, slice by slice or block
    by block: what stopped a few of them is in no median.
    """
    if not figure.startswith("latency_"):
        return None
    late_us = [_pacing_error_us(figure, each) for each in samples]
    said = "the bench handed {late} its messages {by_us:.2g} µs later than {other}"
    return _later_doubt(
        "pacing_differs", said, summaries, late_us, summaries[0].figures[figure], ratio
    )


def _pacing_error_us(figure: str, sample: Sample) -> float | None:
    """The pacer's error in µs, at the percentile of the latency: the median of the rounds' values.

    The value of a round in slices is the median of its slices, or blocks.
    """
    of_slices = sample.slices(figure.replace("latency", "pacing_error"))
    by_round = [
        median(known)
        for values in of_slices.values()
        if (known := [each for each in values if each is not None])
    ]
    return median(by_round) if by_round else _late_us(sample, "pacing_error_ns", figure)


def _lateness_doubt(
    figure: str, summaries: tuple[Summary, Summary], samples: tuple[Sample, Sample], ratio: Figure
) -> Doubt | None:
    """The doubt where the link of one case was later than that of the other."""
    late_us = [_late_us(each, "link_lateness_ns", figure) for each in samples]
    said = "the link of {late} was {by_us:.2g} µs later than that of {other}"
    return _later_doubt(
        "lateness_differs", said, summaries, late_us, summaries[0].figures[figure], ratio
    )


def _stops_doubt(figure: str, samples: tuple[Sample, Sample]) -> Doubt | None:
    """The doubt where one case's link stood still in more of its slices than the other's.

    It is judged as a figure is: the interval of the rounds' differences leaves out 0, and their
    median is over a twentieth of the figure's values. Below that, the median of the ratios moves by
    little: it becomes another quantile of theirs, by half of that difference at most. A value of
    p50 is of one slice, but one of p99 is of a block of many, and a stop in any of these may be in
    it: stops in a share of the slices may be in a share of the blocks that is as many times larger.
    """
    shares = [_stopped_shares(sample) for sample in samples]
    differences = [shares[1][each] - shares[0][each] for each in shares[1] if each in shares[0]]
    if not differences:
        return None
    by = figure_of(differences, samples[1].looks)
    if by.low <= 0 <= by.high or (
        abs(by.median) * _slices_in_a_value(figure, samples) <= _MOST_STOPS_APART
    ):
        return None
    later, other = (way_of(each.case) for each in (samples if by.median < 0 else samples[::-1]))
    return Doubt(
        "link_stops_differ",
        f"the link of {later} stood still in {abs(by.median):.0%} more of its slices than that of "
        f"{other}",
    )


def _slices_in_a_value(figure: str, samples: tuple[Sample, Sample]) -> float:
    """How many slices a value of the figure is made of: a run's slices ÷ its values.

    Slices at the end that fill no block make that more, and never less. 1 where it is not known.
    """
    found = [
        len(stops) / len(values)
        for sample in samples
        for number, values in sample.slices(figure).items()
        for stops in [sample.slices(STOOD_STILL_US).get(number, ())]
    ]
    return max(found, default=1.0)


def _stopped_shares(sample: Sample) -> dict[int, float]:
    """Round → the share of its slices in which the link stood still; empty where not known."""
    return {
        number: sum(bool(us) for us in of_round) / len(of_round)
        for number, of_round in sample.slices(STOOD_STILL_US).items()
    }


def _later_doubt(
    code: str,
    said: str,
    summaries: tuple[Summary, Summary],
    late_us: Sequence[float | None],
    latency_us: Figure | None,
    ratio: Figure,
) -> Doubt | None:
    """The doubt where what the bench adds to two latencies explains too much of their difference.

    `late_us`: how much the bench adds to the baseline's and to the case's; None: not known, or
    nothing.
    """
    of_baseline_us, of_case_us = late_us
    if latency_us is None or of_baseline_us is None or of_case_us is None:
        return None
    by_us = abs(of_case_us - of_baseline_us)
    if by_us <= MAX_PACING_ERROR_SHARE * latency_us.median * _difference_in(ratio):
        return None
    late, other = (way_of(each.case) for each in summaries)
    if of_case_us > of_baseline_us:
        late, other = other, late
    told = said.format(late=late, other=other, by_us=by_us)
    return Doubt(code, f"{told}, which is over a quarter of the difference in latency")


def _late_us(sample: Sample, histogram: str, figure: str) -> float | None:
    """The lateness at the figure's percentile, in µs; None where the figure or the runs have none.

    It is the median of the rounds' values: of all values together, one round's stall would decide.
    """
    percentile = next((found for end, found in _PERCENTILES.items() if figure.endswith(end)), None)
    if percentile is None:
        return None
    found = [
        late.percentile_ns(percentile) / 1e3
        for run in sample.good_runs
        if histogram in run.histograms
        and (late := Histogram.from_base64(run.histograms[histogram])).count
    ]
    return median(found) if found else None


def _difference_in(ratio: Figure) -> float:
    """The difference as a share of the baseline; where it may be 0, its largest possible value."""
    if ratio.low <= 1 <= ratio.high:
        return max(1 - ratio.low, ratio.high - 1)
    return abs(ratio.median - 1)
