"""Times of two results that were measured at different times: what changed (decision 0031).

The host drifts between two results, and mostly moves all cases of a load alike. So a figure is
compared twice: as it is, and as a ratio to the mean of the load's other cases in the same round.
The interval encloses both, so that a change is shown only where neither drift that meets all cases
alike nor a change of the others alone can explain it. Both together can: a case that has not
changed is shown to be slower where the host slowed it down and the others became faster. The rounds
are the unit: the means of their logarithms are compared (B. L. Welch, 1947, Biometrika 34),
assuming that they are independent and normal. `FAMILY_MISSED` is shared out among the figures of a
comparison (C. E. Bonferroni), and not among the two intervals of each: the one that is told
encloses both, so it misses no more often than the one of them that tells what the case did itself:
the relative one where the others did not change and drift met all alike, the other one where there
was no drift. The interval of a latency between two hosts also holds what the clocks may be wrong by
in each result, in the case's own latency and in those of the others. Cases that took turns have the
same error, which is a larger share of a shorter latency; those that were alone have each its own.
Where that alone hides a change, it cannot be said. A value that counts as 0 has no logarithm, and
to leave its round out would be to choose by the outcome: where there is one, no ratio is told.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import exp, inf, log, sqrt
from statistics import fmean, variance

from msgspec import Struct

from tinygram_bench.model.result import Case, Figure, Result, Summary
from tinygram_bench.statistics.changes.change import Change
from tinygram_bench.statistics.changes.student import quantile
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.figures.words import in_words, rounded_up
from tinygram_bench.statistics.one_way import (
    OF_TWO_CLOCKS,
    Figures,
    Unknown,
    bound_us,
    is_of_two_clocks,
    unknown_in,
)
from tinygram_bench.statistics.verdicts.doubts import (
    MIN_PAIRED_ROUNDS,
    barring,
    took_turns_together,
)
from tinygram_bench.statistics.workloads.loads import Load, is_faulty, turns_of

FAMILY_MISSED = 0.01
"""How often any interval of a whole comparison may miss what a case did itself, where rounds are
independent, their logarithms normal, and drift met all alike and came with no change of others."""
_LEAST_SPREAD = 1e-4
"""The precision of the rounds' values, as a share: clocks and counters are whole numbers."""

Logs = Mapping[int, float]
"""Round → the logarithm of its value; −∞ where that counts as 0."""
_Samples = tuple[Mapping[str, Sample], Mapping[str, Sample]]
"""Before and after: case_id → the case's runs."""
_Summaries = Mapping[str, Summary]
"""case_id → the case's summary."""
_Factors = tuple[float, float]
"""What is measured is the truth but for a factor between these two."""
_SURE: _Factors = (1.0, 1.0)


class _Sides(Struct, frozen=True):
    """A figure's logarithms, round by round, before and after, of one case or a mean of several.

    `clocks`: of one that two clocks timed, what else is known of these in each. `beside`: of a mean
    of others, by which factors the clocks may be wrong in the case's ratio to it in each.
    """

    before: Logs
    after: Logs
    clocks: tuple[Figures, Figures] = ({}, {})
    beside: tuple[_Factors, _Factors] = (_SURE, _SURE)

    @property
    def has_ratio(self) -> bool:
        """Whether each has rounds enough, and all of them have logarithms."""
        sides = self.before, self.after
        return all(len(each) >= MIN_PAIRED_ROUNDS and not _nothing(each) for each in sides)

    @property
    def bounds_us(self) -> tuple[float, float]:
        """By how much the clocks may be wrong in each; 0: one clock timed it."""
        before, after = map(bound_us, self.clocks)
        return before, after

    @property
    def middles_us(self) -> tuple[float, float]:
        """The geometric means, before and after."""
        return exp(fmean(self.before.values())), exp(fmean(self.after.values()))

    def unknown(self, figure: str) -> tuple[Unknown | None, Unknown | None]:
        """Why the clocks do not know the figure well enough in each; None where they do."""
        before, after = (
            unknown_in({**clocks, figure: _figure(logs)}, figure)
            for clocks, logs in zip(self.clocks, (self.before, self.after), strict=True)
        )
        return before, after


def time_changes(before: Result, after: Result, cases: Sequence[Case]) -> tuple[Change, ...]:
    """Every compared figure of the `cases`, which both results have."""
    samples = (samples_of(before.plan, before.runs), samples_of(after.plan, after.runs))
    summaries = (_summaries_of(before), _summaries_of(after))
    loads: dict[Hashable, list[Case]] = {}
    for case in cases:
        if not is_faulty(case):
            loads.setdefault(turns_of(case), []).append(case)
    asked = [
        (case, figure, own, _mean_of(samples, case, own, others, figure))
        for alike in loads.values()
        for case in alike
        for figure in Load.of(case).compared_figures
        for others in [_unbarred(summaries, alike, case, figure)]
        for own in [_sides(samples, case, figure)]
    ]
    count = sum(own.has_ratio for _, _, own, _ in asked)
    return tuple(
        _change(case, figure, own, others, FAMILY_MISSED / max(count, 1), summaries)
        for case, figure, own, others in asked
        if own.before or own.after
    )


def _sides(samples: _Samples, case: Case, figure: str) -> _Sides:
    before, after = (side[case.case_id] for side in samples)
    clocks = (_clocks(before, figure), _clocks(after, figure))
    return _Sides(_logs(before, figure), _logs(after, figure), clocks)


def _clocks(sample: Sample, figure: str) -> Figures:
    if not is_of_two_clocks(figure):
        return {}
    return {name: sample.figure(name) for name in OF_TWO_CLOCKS}


def _logs(sample: Sample, figure: str) -> Logs:
    values = sample.values(figure)
    return {number: log(each) if each > 0 else -inf for number, each in values.items()}


def _nothing(logs: Logs) -> int:
    """How many values count as 0: messages seemed to come before they were sent, for example."""
    return sum(each == -inf for each in logs.values())


def _unbarred(
    summaries: tuple[_Summaries, _Summaries], alike: Sequence[Case], case: Case, figure: str
) -> list[Case]:
    """The load's other cases whose figure no warning bars in either result."""
    return [
        other
        for other in alike
        if other is not case and not any(_barring(each, other, figure) for each in summaries)
    ]


def _mean_of(
    samples: _Samples, case: Case, own: _Sides, others: Sequence[Case], figure: str
) -> _Sides | None:
    """The mean of the other cases; None where both results know none of them well enough."""
    found = [(other, _sides(samples, other, figure)) for other in others]
    known = [
        (other, each) for other, each in found if each.has_ratio and not any(each.unknown(figure))
    ]
    if not known or not own.has_ratio:
        return None
    before, after = (
        _mean_factors(
            _factors_beside(
                (own.middles_us[at], other_sides.middles_us[at]),
                (own.bounds_us[at], other_sides.bounds_us[at]),
                is_common=took_turns_together(side[case.case_id], side[other.case_id]),
            )
            for other, other_sides in known
        )
        for at, side in enumerate(samples)
    )
    return _Sides(
        _mean([each.before for _, each in known]),
        _mean([each.after for _, each in known]),
        beside=(before, after),
    )


def _factors(time_us: float, bound_us: float) -> _Factors:
    """By which factors clocks that are wrong by so much may be wrong in a time."""
    return max(0.0, 1 - bound_us / time_us), 1 + bound_us / time_us


def _factors_beside(
    times_us: tuple[float, float], bounds_us: tuple[float, float], *, is_common: bool
) -> _Factors:
    """By which factors clocks may be wrong in the ratio of the first time to the second."""
    if is_common:
        most_us = max(bounds_us)
        (own_low, own_high), (low, high) = (_factors(each, most_us) for each in times_us)
        # Both are too long, or both are too short.
        ends = [own_low / low if low else inf, own_high / high]
        return min(ends), max(ends)
    own_low, own_high = _factors(times_us[0], bounds_us[0])
    low, high = _factors(times_us[1], bounds_us[1])
    return own_low / high, own_high / low if low else inf


def _mean_factors(factors: Iterable[_Factors]) -> _Factors:
    low, high = (
        exp(fmean(log(each) if each else -inf for each in ends))
        for ends in zip(*factors, strict=True)
    )
    return low, high


def _mean(logs: Sequence[Logs]) -> Logs:
    common = set.intersection(*(set(each) for each in logs))
    return {number: fmean(each[number] for each in logs) for number in common}


def _change(
    case: Case,
    figure: str,
    own: _Sides,
    others: _Sides | None,
    missed: float,
    summaries: tuple[_Summaries, _Summaries],
) -> Change:
    ratio, reason = None, _doubt(case, figure, own, summaries)
    if own.has_ratio:
        alone = _interval(own, missed)
        before, after = map(_factors, own.middles_us, own.bounds_us)
        ratio = _widened(alone, before, after)
        relative = None if others is None else _Sides(*_relative(own, others))
        if others is not None and relative is not None and relative.has_ratio:
            beside = _interval(relative, missed)
            alone = _enclosing(alone, beside)
            ratio = _enclosing(ratio, _widened(beside, *others.beside))
        elif reason is None:
            reason = (
                "no other case of its load is known in the same rounds without a warning: what the "
                "host did between the results cannot be told from a change; measure another way "
                "beside it"
            )
        if reason is None and _is_shown(alone) and not _is_shown(ratio):
            wrong_before, wrong_after = map(rounded_up, own.bounds_us)
            reason = (
                f"the clocks of the two hosts may be wrong by {wrong_before} µs before and "
                f"{wrong_after} µs after, which may be all that changed in it or beside the others"
            )
    return Change(
        case=case,
        figure=figure,
        kind="times",
        before=_figure(own.before),
        after=_figure(own.after),
        ratio=ratio,
        is_higher_better=is_higher_better(figure),
        reason=reason,
        bounds_us=own.bounds_us,
        unknown=own.unknown(figure),
    )


def _relative(own: _Sides, others: _Sides) -> tuple[Logs, Logs]:
    pairs = ((own.before, others.before), (own.after, others.after))
    before, after = (
        {number: mine[number] - theirs[number] for number in mine.keys() & theirs.keys()}
        for mine, theirs in pairs
    )
    return before, after


def _interval(sides: _Sides, missed: float) -> Figure:
    """after ÷ before: the ratio of the geometric means."""
    before, after = list(sides.before.values()), list(sides.after.values())
    errors = [max(variance(each), _LEAST_SPREAD**2) / len(each) for each in (before, after)]
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(each) - 1) for error, each in zip(errors, (before, after), strict=True)
    )
    middle = fmean(after) - fmean(before)
    half = quantile(missed, freedom) * sqrt(sum(errors))
    return Figure(exp(middle), exp(middle - half), exp(middle + half))


def _widened(ratio: Figure, before: _Factors, after: _Factors) -> Figure:
    """The ratio after ÷ before, whose interval also holds what the clocks may be wrong by."""
    high = ratio.high * after[1] / before[0] if before[0] else inf
    return Figure(ratio.median, ratio.low * after[0] / before[1], high)


def _enclosing(ratio: Figure, other: Figure) -> Figure:
    """The ratio, with an interval that holds both."""
    return Figure(ratio.median, min(ratio.low, other.low), max(ratio.high, other.high))


def _is_shown(ratio: Figure) -> bool:
    return not ratio.low <= 1 <= ratio.high


def _doubt(
    case: Case, figure: str, own: _Sides, summaries: tuple[_Summaries, _Summaries]
) -> str | None:
    for name, logs, of_cases in zip(
        ("before", "after"), (own.before, own.after), summaries, strict=True
    ):
        if not logs:
            return f"{name} there is no {in_words(figure)}: not known, or too few samples"
        if len(logs) < MIN_PAIRED_ROUNDS:
            return f"{name} there are {len(logs)} rounds, and {MIN_PAIRED_ROUNDS} are needed"
        if nothing := _nothing(logs):
            return (
                f"{name} {nothing} of {len(logs)} rounds count as 0, which has no ratio to any "
                "other time, and to compare the others would be to choose by the outcome"
            )
        message = _barring(of_cases, case, figure)
        if message is not None:
            return f"{name}: {message}"
    return None


def _barring(summaries: _Summaries, case: Case, figure: str) -> str | None:
    """The first warning that bars the case's figure."""
    summary = summaries.get(case.case_id)
    if summary is None:
        return None
    # Slices are of no help: the two results were not measured side by side.
    warning = barring(figure, summary, took_turns=False)
    return None if warning is None else warning.message


def _summaries_of(result: Result) -> _Summaries:
    return {summary.case.case_id: summary for summary in result.summaries}


def _figure(logs: Logs) -> Figure | None:
    values = list(logs.values())
    return Figure(*map(exp, (fmean(values), min(values), max(values)))) if values else None
