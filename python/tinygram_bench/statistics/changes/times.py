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
was no drift. Of a latency between two hosts the interval also holds what the clocks may be wrong by
in each result: they were not wrong alike. Where that alone hides a change, it cannot be said.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import exp, log, sqrt
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
    bound_us,
    is_of_two_clocks,
    unknown_in,
    with_own_errors,
)
from tinygram_bench.statistics.verdicts.doubts import MIN_PAIRED_ROUNDS, barring
from tinygram_bench.statistics.workloads.loads import Load, is_faulty, turns_of

FAMILY_MISSED = 0.01
"""How often any interval of a whole comparison may miss what a case did itself, where rounds are
independent, their logarithms normal, and drift met all alike and came with no change of others."""
_LEAST_SPREAD = 1e-4
"""The precision of the rounds' values, as a share: clocks and counters are whole numbers."""

Logs = Mapping[int, float]
_Summaries = Mapping[str, Summary]
"""case_id → the case's summary."""


class _Sides(Struct, frozen=True):
    """A figure's logarithms, round by round, of one case before and after.

    `clocks`: of one that two clocks timed, what else is known of these in each.
    """

    before: Logs
    after: Logs
    clocks: tuple[Figures, Figures] = ({}, {})

    @property
    def has_enough(self) -> bool:
        return min(len(self.before), len(self.after)) >= MIN_PAIRED_ROUNDS

    @property
    def bounds_us(self) -> tuple[float, float]:
        """By how much the clocks may be wrong in each; 0: one clock timed it."""
        before, after = map(bound_us, self.clocks)
        return before, after

    @property
    def middles(self) -> tuple[float, float]:
        """The geometric means, before and after."""
        return exp(fmean(self.before.values())), exp(fmean(self.after.values()))


def time_changes(before: Result, after: Result, cases: Sequence[Case]) -> tuple[Change, ...]:
    """Every compared figure of the `cases`, which both results have."""
    samples = (samples_of(before.plan, before.runs), samples_of(after.plan, after.runs))
    summaries = (_summaries_of(before), _summaries_of(after))
    loads: dict[Hashable, list[Case]] = {}
    for case in cases:
        if not is_faulty(case):
            loads.setdefault(turns_of(case), []).append(case)
    asked = [
        (case, figure, _sides(samples, case, figure), _mean_of(samples, others, figure))
        for alike in loads.values()
        for case in alike
        for figure in Load.of(case).compared_figures
        for others in [_unbarred(summaries, alike, case, figure)]
    ]
    count = sum(own.has_enough for _, _, own, _ in asked)
    return tuple(
        _change(case, figure, own, others, FAMILY_MISSED / max(count, 1), summaries)
        for case, figure, own, others in asked
        if own.before or own.after
    )


def _sides(
    samples: tuple[Mapping[str, Sample], Mapping[str, Sample]], case: Case, figure: str
) -> _Sides:
    before, after = (side[case.case_id] for side in samples)
    clocks = (_clocks(before, figure), _clocks(after, figure))
    return _Sides(_logs(before, figure), _logs(after, figure), clocks)


def _clocks(sample: Sample, figure: str) -> Figures:
    if not is_of_two_clocks(figure):
        return {}
    return {name: sample.figure(name) for name in OF_TWO_CLOCKS}


def _logs(sample: Sample, figure: str) -> Logs:
    return {number: log(each) for number, each in sample.values(figure).items() if each > 0}


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
    samples: tuple[Mapping[str, Sample], Mapping[str, Sample]], others: Sequence[Case], figure: str
) -> _Sides | None:
    """The mean of the other cases; None where both results know none of them well enough."""
    found = [_sides(samples, other, figure) for other in others]
    known = [each for each in found if each.has_enough]
    if not known:
        return None
    return _Sides(_mean([each.before for each in known]), _mean([each.after for each in known]))


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
    if own.has_enough:
        ratio = _interval(own, missed)
        relative = None if others is None else _Sides(*_relative(own, others))
        if relative is not None and relative.has_enough:
            beside = _interval(relative, missed)
            low, high = min(ratio.low, beside.low), max(ratio.high, beside.high)
            ratio = Figure(ratio.median, low, high)
        elif reason is None:
            reason = (
                "no other case of its load is known in the same rounds without a warning: what the "
                "host did between the results cannot be told from a change; measure another way "
                "beside it"
            )
        alone, ratio = ratio, with_own_errors(ratio, own.middles, own.bounds_us)
        if reason is None and _is_shown(alone) and not _is_shown(ratio):
            wrong_before, wrong_after = map(rounded_up, own.bounds_us)
            reason = (
                f"the clocks of the two hosts may be wrong by {wrong_before} µs before and "
                f"{wrong_after} µs after, which may be all that changed"
            )
    before, after = _figure(own.before), _figure(own.after)
    of_before, of_after = own.clocks
    return Change(
        case=case,
        figure=figure,
        kind="times",
        before=before,
        after=after,
        ratio=ratio,
        is_higher_better=is_higher_better(figure),
        reason=reason,
        bounds_us=own.bounds_us,
        unknown=(
            unknown_in({**of_before, figure: before}, figure),
            unknown_in({**of_after, figure: after}, figure),
        ),
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
