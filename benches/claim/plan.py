"""What is left to run: the rounds of all cells, then more rounds of those that are undecided.

How long a run takes is learned from the runs before it, so that more rounds are begun only when
they can be finished. Which cells get them, where not all can, is drawn by lot.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from claim.grid import (
    COLD,
    OURS,
    PILOT_MESSAGES,
    TWICE,
    Cell,
    fixed_strategies,
    gathering,
    has_floor,
    is_run_cold,
    is_run_twice,
)
from claim.judging.compare import LOOKS
from claim.judging.judge import Verdict, may_be_decided
from claim.judging.samples import COSTS, Samples
from claim.runs import Variant
from tinygram_bench.model.result import Case

HOPELESS = 1.5
"""A rival that costs so many times the best in the odd rounds, in each figure that is undecided, is
not run again: it would not be picked."""
FLOOR_ROUNDS = 4
"""The rounds in which the cost of a load itself is measured."""


@dataclass(frozen=True)
class PlannedRun:
    """One planned run."""

    cell: int
    strategy: str
    variant: Variant

    def case(self, cells: Sequence[Cell], placement: str, messages: Mapping[int, int]) -> Case:
        """The bench's case; `messages`: of each flat-out cell."""
        cell = cells[self.cell]
        case = cell.case(
            self.strategy,
            placement,
            messages.get(self.cell, PILOT_MESSAGES),
            withholds=self.variant == "floor",
        )
        suffix = "" if self.variant == "warm" else f", {self.variant}"
        return msgspec.structs.replace(case, case_id=f"{case.case_id}{suffix}")

    @staticmethod
    def of(case: Case, cells: Sequence[Cell]) -> PlannedRun:
        """The planned run that `case` made this case of."""
        name = case.case_id.rpartition(": ")[2]
        _, _, variant = name.partition(", ")
        return PlannedRun(
            cells.index(Cell.of(case)), case.strategy, msgspec.convert(variant or "warm", Variant)
        )


def all_runs(cells: Sequence[Cell], *, has_cold: bool) -> list[PlannedRun]:
    """Every run that some round may have."""
    return [
        run
        for number, cell in enumerate(cells)
        for run in (
            *runs_of_cell(number, cell, cell.strategies),
            *first_runs_of_cell(number, cell, 1),
        )
        if has_cold or run.variant != "cold"
    ]


def runs_of_cell(number: int, cell: Cell, strategies: Collection[str]) -> list[PlannedRun]:
    """All runs of a cell in a round, that which repeats a strategy among them."""
    runs = [PlannedRun(number, strategy, "warm") for strategy in strategies]
    if is_run_twice(cell) and TWICE in strategies:
        runs.append(PlannedRun(number, TWICE, "again"))
    return runs


def first_runs_of_cell(number: int, cell: Cell, round: int) -> list[PlannedRun]:
    """What is run, too, in the rounds that all cells have: by fresh processes, and the floor."""
    runs = [PlannedRun(number, strategy, "cold") for strategy in COLD] if is_run_cold(cell) else []
    if has_floor(cell) and round <= FLOOR_ROUNDS:
        runs.append(PlannedRun(number, gathering(cell.runtime), "floor"))
    return runs


def shuffled(runs: Sequence[Sequence[PlannedRun]], seed: str) -> Iterator[PlannedRun]:
    """The runs of one round: cells in random order, the runs of a cell one after the other."""
    lot = random.Random(seed)
    cells = [list(of_cell) for of_cell in runs]
    lot.shuffle(cells)
    for of_cell in cells:
        lot.shuffle(of_cell)
        yield from of_cell


def rounds_of_look(look: int) -> range:
    """The rounds, from 1, that end with that look."""
    return range(1 + (LOOKS[look - 1] if look else 0), LOOKS[look] + 1)


def strategies_left(
    cells: Sequence[Cell], samples: Samples, verdicts: Iterable[Verdict]
) -> dict[int, list[str]]:
    """Cell that more rounds may decide → ours, and the rivals that may be picked there."""
    left: dict[int, list[str]] = {}
    for verdict in filter(may_be_decided, verdicts):
        fixed = fixed_strategies(cells[verdict.cell].runtime)
        medians = samples.odd_medians(verdict.cell, fixed, COSTS[verdict.figure])
        near = HOPELESS * min(medians.values())
        found = left.setdefault(verdict.cell, [OURS])
        needed = [name for name in medians if medians[name] <= near or name in verdict.rivals]
        found += [name for name in needed if name not in found]
    return left


def run_seconds(cell: Cell) -> float:
    """About what a run takes, before any has run."""
    return 0.06 if cell.rate_per_s is None else 0.02 + cell.duration_ns / 1e9
