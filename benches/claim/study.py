"""How the grid is run: rounds of all cells, a look, more rounds of what is undecided.

Laws: the strategies of a cell take turns in slices, over the same arrivals, which are others in the
next round; processes live for one round, so that where their memory lies is chance, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from claim.grid import Cell
from claim.judging.compare import LOOKS
from claim.judging.judge import verdicts_of
from claim.judging.samples import Samples
from claim.others import CoresTime
from claim.plan import cell_seconds, strategies_of, undecided_cells
from claim.planned import PlannedRun, runs_of_cell, shuffled
from claim.runs import Measured, slimmed
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.runs.bench import Bench

_SAFETY = 1.15
"""What more rounds take, starts of processes included ÷ what their cells took before."""


class Grid:
    """The cases of a plan in the order in which they run; `run_cases` runs them."""

    def __init__(
        self,
        cells: Sequence[Cell],
        plan: Plan,
        bench: Bench,
        give_up_s: float,
        about: dict[str, Any],
    ) -> None:
        """`give_up_s`: when the time is over (time.monotonic).

        `about` is what the result file keeps of the study: `others` is told there (`About`).
        """
        self._cells = cells
        self._seed = plan.seed
        self._cases = {PlannedRun.of(case, cells): case for case in plan.cases}
        self._planned = {case.case_id: planned for planned, case in self._cases.items()}
        self._bench = bench
        self._give_up_s = give_up_s
        self._left = list(range(len(cells)))
        self._taken_s: dict[int, float] = {}
        self._about = about
        self._since = CoresTime.now()

    def run_cases(self, cases: Sequence[Case], round: int) -> list[Run]:
        """Run the cases of each cell side by side, and keep what is needed of them."""
        by_cell: dict[int, list[Case]] = {}
        for case in cases:
            by_cell.setdefault(self._planned[case.case_id].cell, []).append(case)
        runs = []
        for cell, of_cell in by_cell.items():
            begun_s = time.monotonic()
            runs += [slimmed(run) for run in self._bench.run_cases(of_cell, round)]
            self._taken_s[cell] = time.monotonic() - begun_s
        return runs

    def order(self, _plan: Plan, round: int, finished: Sequence[Run]) -> Iterator[Case]:
        """One pass over the cells, or over those that are left; the bench counts rounds from 0."""
        samples = Samples.of(measured_of(self._cells, self._planned, finished))
        if round in LOOKS[:-1]:
            self._left = self._undecided(LOOKS[LOOKS.index(round) + 1] - round, samples)
        planned = [
            runs_of_cell(
                at, self._cells[at], strategies_of(at, self._cells[at], round + 1, samples)
            )
            for at in self._left
        ]
        self._bench.close()
        # Whose processes have just ended, so that what they used is known.
        self._about["others"] = msgspec.to_builtins(CoresTime.now().others_since(self._since))
        for run in shuffled(planned, f"{self._seed}/{round + 1}"):
            if run in self._cases:
                yield self._cases[run]

    def _undecided(self, rounds: int, samples: Samples) -> list[int]:
        """What is undecided, as much as there is time for, the nearest to a verdict first."""
        numbers = undecided_cells(verdicts_of(self._cells, samples))
        seconds_left = self._give_up_s - time.monotonic()
        chosen = []
        for number in numbers:
            cell = self._cells[number]
            taken_s = self._taken_s.get(number) or cell_seconds(cell, len(cell.strategies))
            seconds = _SAFETY * rounds * taken_s
            if seconds <= seconds_left:
                seconds_left -= seconds
                chosen.append(number)
        return chosen


def measured_of(
    cells: Sequence[Cell], planned: Mapping[str, PlannedRun], runs: Sequence[Run]
) -> list[Measured]:
    """The runs of a result file, whose cases were `planned`."""
    return [
        Measured.of(run, each, cells[each.cell]) for run in runs for each in (planned[run.case_id],)
    ]


def by_strategy(case: Case) -> tuple[str, ...]:
    """The key of cases whose processes are the same: side by side, each strategy has its own."""
    variant = case.case_id.rpartition(": ")[2]
    return case.runtime, case.link, case.placement, variant
