"""The good rounds of each case, as figures, from which summaries and verdicts are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from msgspec import Struct

from tinygram_bench.model.result import Case, Figure, Plan, Result, Run
from tinygram_bench.statistics.figures.counters import Number
from tinygram_bench.statistics.figures.intervals import figure_of, looks_of
from tinygram_bench.statistics.figures.runs import (
    RunFigures,
    figures_of,
    has_enough_samples,
    is_extreme,
    pooled_figure,
)
from tinygram_bench.statistics.one_way import BOUND


class Sample(Struct, frozen=True):
    """All runs of one case. `rounds`: round → its figures, in round order, good ones only.

    `looks`: at how many looks its plan may end.
    """

    case: Case
    rounds: Mapping[int, RunFigures]
    good_runs: tuple[Run, ...]
    failed_rounds: int
    looks: int = 1

    def values(self, figure: str) -> dict[int, float]:
        """Round → value; empty unless every good round has one and the samples suffice.

        All or none: an interval from fewer rounds would have another confidence than its summary.
        """
        values = {number: each.values.get(figure) for number, each in self.rounds.items()}
        if not has_enough_samples(figure, self._pooled_counts()):
            return {}
        known = _known(values)
        return known if len(known) == len(values) else {}

    @property
    def took_turns(self) -> bool:
        """Whether every good round has values of slices, or of alternating samples."""
        return bool(self.good_runs) and all(run.slices for run in self.good_runs)

    def slices(self, figure: str) -> dict[int, tuple[float | None, ...]]:
        """Round → values of its slices; empty unless every good round has some."""
        found = {run.round: run.slices.get(figure, ()) for run in self.good_runs}
        return found if all(found.values()) else {}

    def figure(self, name: str) -> Figure | None:
        """The median of the rounds and its interval; None where `values` has nothing.

        An extreme, and a percentile that not every round alone supports, are those of all rounds'
        samples together; the interval then goes from the lowest to the highest of the rounds' own
        values, widened where need be. So does that of what two clocks may be wrong by: it must hold
        for every round.
        """
        values = tuple(self.values(name).values())
        if values and name == BOUND:
            return Figure(median(values), min(values), max(values))
        if not values or self.is_median(name):
            return figure_of(values, self.looks) if values else None
        pooled = pooled_figure(name, self.good_runs)
        assert pooled is not None, f"the rounds have {name}, their samples together do not"
        return Figure(pooled, low=min(*values, pooled), high=max(*values, pooled))

    def is_median(self, name: str) -> bool:
        return not is_extreme(name) and all(
            has_enough_samples(name, each.sample_counts) for each in self.rounds.values()
        )

    def _pooled_counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for each in self.rounds.values():
            counts.update(each.sample_counts)
        return counts


def samples_of(plan: Plan, runs: Sequence[Run]) -> dict[str, Sample]:
    """A sample per case, case_id → sample, in the plan's order.

    ValueError where a run's case is not in the plan, or where a case ran twice in one round.
    """
    runs_of: dict[str, dict[int, Run]] = {case.case_id: {} for case in plan.cases}
    for run in runs:
        if run.case_id not in runs_of:
            raise ValueError(f"a run of {run.case_id}, which is not in the plan")
        if run.round in runs_of[run.case_id]:
            raise ValueError(f"two runs of {run.case_id} in round {run.round}")
        runs_of[run.case_id][run.round] = run
    looks = looks_of(plan)
    return {case.case_id: _sample(case, runs_of[case.case_id], looks) for case in plan.cases}


def good_runs(result: Result) -> Mapping[str, Sequence[Run]]:
    """case_id → its runs that did not fail; a case of the plan without any has an empty list."""
    found: dict[str, list[Run]] = {case.case_id: [] for case in result.plan.cases}
    for run in result.runs:
        if run.failure is None:
            found[run.case_id].append(run)
    return found


def _sample(case: Case, runs: Mapping[int, Run], looks: int) -> Sample:
    good = {number: runs[number] for number in sorted(runs) if runs[number].failure is None}
    return Sample(
        case=case,
        rounds={number: figures_of(case, run) for number, run in good.items()},
        good_runs=tuple(good.values()),
        failed_rounds=len(runs) - len(good),
        looks=looks,
    )


def _known(values: Mapping[int, Number]) -> dict[int, float]:
    return {number: value for number, value in values.items() if value is not None}
