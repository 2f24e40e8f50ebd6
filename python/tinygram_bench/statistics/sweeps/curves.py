"""The curves of a sweep: the figure of each way at each point, and how two ways compare there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.result import Case, Figure, Plan, Run, Summary, Verdict
from tinygram_bench.model.sweep import Point, Sweep
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.one_way import Unknown, bound_on, unknown_in
from tinygram_bench.statistics.recurring import FELL_BEHIND, recurs
from tinygram_bench.statistics.summary import summarise
from tinygram_bench.statistics.verdicts.comparison import round_ratios, verdict_on
from tinygram_bench.statistics.verdicts.doubts import barring
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.loads import Load, is_base, is_faulty, is_limit


class Curve(Struct, frozen=True):
    """A way over all points: `cases` and what is known of each, the lowest value first.

    `rounds`: the figure in the rounds of each point's step, none where it is not known.
    `is_behind`: where the way could not keep up in half of the rounds or more; `has_failed`: where
    it failed in every round. `bounds_us`: by how much the clocks of two hosts may be wrong at each
    point; None: one clock timed it. `doubts`: why the figure gets no verdict at a point, apart from
    falling behind; None: it may get one. `unknown`: where these clocks do not know the figure well
    enough for it to be shown, which bars no verdict on two ways; None: it may be shown. `pooled`:
    the figure of all of the case's rounds together, where a round alone has too few samples for it.
    """

    cases: tuple[Case, ...]
    rounds: tuple[tuple[float, ...], ...]
    is_behind: tuple[bool, ...]
    has_failed: tuple[bool, ...]
    bounds_us: tuple[float | None, ...]
    doubts: tuple[str | None, ...] = ()
    unknown: tuple[Unknown | None, ...] = ()
    pooled: tuple[Figure | None, ...] = ()

    @property
    def figures(self) -> tuple[Figure | None, ...]:
        """At each point the figure and its interval, as in the summaries of the cases."""
        return tuple(
            each or (figure_of(values) if values else None)
            for values, each in zip(
                self.rounds, self.pooled or (None,) * len(self.rounds), strict=True
            )
        )

    @property
    def reasons(self) -> tuple[str | None, ...]:
        """At each point why the figure by itself shows nothing; None: it does."""
        none = (None,) * len(self.rounds)
        return tuple(
            doubt or (None if unknown is None else unknown.reason)
            for doubt, unknown in zip(self.doubts or none, self.unknown or none, strict=True)
        )


class Pairing(Struct, frozen=True):
    """Two curves of a load: `ratios` second ÷ first in the rounds of each point, and `verdicts`."""

    first: Curve
    second: Curve
    ratios: tuple[tuple[float, ...], ...]
    verdicts: tuple[Verdict, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """At each point 1 where the second is shown to be faster, -1 the first, 0 neither."""
        signs = {"faster": 1, "slower": -1}
        return tuple(signs.get(each.verdict, 0) for each in self.verdicts)


class Swept(Struct, frozen=True):
    """All curves of a sweep over its points; `figure` is what they show."""

    sweep: Sweep
    figure: str
    curves: tuple[Curve, ...]
    pairings: tuple[Pairing, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(point.value for point in self.sweep.points)

    @property
    def is_higher_better(self) -> bool:
        return is_higher_better(self.figure)


def swept_of(plan: Plan, runs: Sequence[Run], summaries: Sequence[Summary] = ()) -> Swept:
    """The curves of a plan that has a sweep, and how they compare.

    `summaries`: those of the runs; they are made here where none are given. Raises what
    `samples_of` raises.
    """
    seen = _Seen.of(plan, runs, summaries)
    alone = _curves(seen)
    curves = dict(enumerate(alone.curves))
    pairings = (
        _pairing(
            alone.figure,
            (curves[n], curves[m]),
            [(at[n], at[m]) for at in seen.at_points],
            seen.summaries,
        )
        for n, m in _compared(curves)
    )
    return replace(alone, pairings=tuple(pairings))


def curves_of(plan: Plan, runs: Sequence[Run], summaries: Sequence[Summary] = ()) -> Swept:
    """Do what `swept_of` does, without pairings: a condensed result lacks their slices."""
    return _curves(_Seen.of(plan, runs, summaries))


class _Seen(Struct, frozen=True):
    """A sweep's samples at each of its points, and case_id → summary."""

    sweep: Sweep
    at_points: list[tuple[Sample, ...]]
    summaries: dict[str, Summary]

    @classmethod
    def of(cls, plan: Plan, runs: Sequence[Run], summaries: Sequence[Summary]) -> _Seen:
        sweep = plan.sweep
        assert sweep is not None, "it is asked of a sweep alone"
        return cls(
            sweep,
            _samples_at_points(plan, sweep, samples_of(plan, runs)),
            # Warnings of a reference are those of all of its rounds.
            {each.case.case_id: each for each in summaries or summarise(plan, runs)},
        )


def _curves(seen: _Seen) -> Swept:
    sweep, at_points = seen.sweep, seen.at_points
    first = at_points[0][0].case
    figure = Load.of(first).compared_figures[0] if sweep.limit is None else sweep.limit.figure
    curves = (
        _curve(figure, [samples[n] for samples in at_points], seen.summaries)
        for n in range(len(at_points[0]))
    )
    return Swept(sweep, figure, tuple(curves))


def _samples_at_points(
    plan: Plan, sweep: Sweep, samples: dict[str, Sample]
) -> list[tuple[Sample, ...]]:
    """The samples, in each point's rounds, of its cases and of cases that belong to no point."""
    swept_ids = sweep.swept_ids
    references = [case.case_id for case in plan.cases if case.case_id not in swept_ids]
    return [
        tuple(_in_rounds(samples[id_], sweep, point) for id_ in (*point.case_ids, *references))
        for point in sweep.points
    ]


def _in_rounds(sample: Sample, sweep: Sweep, point: Point) -> Sample:
    """The part of a sample from the point's rounds, to compare round by round.

    Its pooled figures are not for reports: those of a thinned result would differ, because it keeps
    percentiles of all rounds of a case together.
    """
    rounds = sweep.rounds_of(point)
    return replace(
        sample,
        rounds={number: each for number, each in sample.rounds.items() if number in rounds},
        good_runs=tuple(run for run in sample.good_runs if run.round in rounds),
    )


def _curve(figure: str, samples: Sequence[Sample], summaries: dict[str, Summary]) -> Curve:
    rounds = tuple(tuple(sample.values(figure).values()) for sample in samples)
    of_cases = [summaries[each.case.case_id] for each in samples]
    return Curve(
        cases=tuple(sample.case for sample in samples),
        rounds=rounds,
        is_behind=tuple(recurs(FELL_BEHIND, sample.good_runs) for sample in samples),
        has_failed=tuple(not each.rounds and each.failed_rounds > 0 for each in samples),
        doubts=tuple(_doubt(figure, each) for each in of_cases),
        unknown=tuple(
            unknown_in(each.figures, figure) if values else None
            for each, values in zip(of_cases, rounds, strict=True)
        ),
        bounds_us=tuple(bound_on(each.figures, figure) for each in of_cases),
        pooled=tuple(
            None if sample.is_median(figure) else summary.figures.get(figure)
            for sample, summary in zip(samples, of_cases, strict=True)
        ),
    )


def _doubt(figure: str, summary: Summary) -> str | None:
    warning = barring(figure, summary, took_turns=False, but_for=FELL_BEHIND)
    return None if warning is None else warning.message


def _compared(curves: dict[int, Curve]) -> Iterator[tuple[int, int]]:
    """Pairs of the ways that the workload compares; where it names none, those of a load that are
    of one runtime, or of which one is the base.
    """
    first = {n: curve.cases[0] for n, curve in curves.items()}
    named = WORKLOADS[first[0].workload].pairs
    if named is not None:
        number = {case.case_id: n for n, case in first.items()}
        for baseline, case_id in named(list(first.values())):
            yield number[baseline], number[case_id]
        return
    for n, m in combinations(first, 2):
        one, other = first[n], first[m]
        competes = not any(is_limit(each) or is_faulty(each) for each in (one, other))
        is_near = one.runtime == other.runtime or is_base(one) or is_base(other)
        if competes and is_near and Load.of(one) == Load.of(other):
            yield n, m


def _pairing(
    figure: str,
    curves: tuple[Curve, Curve],
    pairs: Sequence[tuple[Sample, Sample]],
    summaries: dict[str, Summary],
) -> Pairing:
    first, second = curves
    return Pairing(
        first,
        second,
        tuple(round_ratios(one, other, figure) for one, other in pairs),
        tuple(
            verdict_on(
                figure,
                (summaries[one.case.case_id], one),
                (summaries[other.case.case_id], other),
            )
            for one, other in pairs
        ),
    )
