"""The runs that a grid may have: the strategies of each cell, and ours twice in some."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from claim.grid import OURS, Cell, is_run_twice
from tinygram_bench.model.result import Case
from tinygram_bench.model.value import Value

Variant = Literal["once", "again"]
"""`again`: ours under a second name, to be compared with itself."""


class PlannedRun(Value, frozen=True):
    """A strategy of a cell, which is the cell's number in the grid."""

    cell: int
    strategy: str
    variant: Variant = "once"

    def case(self, cells: Sequence[Cell], placement: str, slice_ms: int | None = None) -> Case:
        """The bench's case; `slice_ms`: the least length of a slice, if not the grid's."""
        case = cells[self.cell].case(self.strategy, placement, slice_ms)
        suffix = "" if self.variant == "once" else f", {self.variant}"
        return msgspec.structs.replace(case, case_id=f"{case.case_id}{suffix}")

    @staticmethod
    def of(case: Case, cells: Sequence[Cell]) -> PlannedRun:
        """The planned run that `case` made this case of."""
        _, _, variant = case.case_id.rpartition(": ")[2].partition(", ")
        known = msgspec.convert(variant or "once", Variant)
        return PlannedRun(cells.index(Cell.of(case)), case.strategy, known)


def all_runs(cells: Sequence[Cell]) -> list[PlannedRun]:
    """Every run that some round may have."""
    return [run for at, cell in enumerate(cells) for run in runs_of_cell(at, cell, cell.strategies)]


def runs_of_cell(number: int, cell: Cell, strategies: Collection[str]) -> list[PlannedRun]:
    """All runs of a cell in a round, that which repeats ours among them."""
    runs = [PlannedRun(number, strategy) for strategy in strategies]
    if is_run_twice(cell) and OURS in strategies:
        runs.append(PlannedRun(number, OURS, "again"))
    return runs


def shuffled(cells: Iterable[Sequence[PlannedRun]], seed: str) -> Iterator[PlannedRun]:
    """The runs of one round: cells in random order, the runs of a cell one after the other."""
    order = list(cells)
    random.Random(seed).shuffle(order)
    for of_cell in order:
        yield from of_cell
