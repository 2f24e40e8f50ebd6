"""How hard the test is: each fixed strategy, and the cell's own pick, judged by the same rules."""

from __future__ import annotations

from collections.abc import Sequence

from claim.grid import OURS, Cell, name_on_all_runtimes
from claim.judge import Count, count_cells, judged_of
from claim.picks import BESIDE, DECIDING, Reading, best_fixed
from claim.samples import COSTS, Samples
from tinygram_bench.model.value import Value

THE_PICK = "the pick of each cell"
"""The fixed strategy with the least delay + CPU in the odd rounds: nobody knows it beforehand."""


class Calibration(Value, frozen=True):
    """In how many cells a strategy holds and loses."""

    strategy: str
    reading: Reading
    count: Count


def calibrations_of(cells: Sequence[Cell], samples: Samples) -> tuple[Calibration, ...]:
    """Every strategy over all cells, the pick, and ours last."""
    candidates: dict[str, dict[int, str]] = {}
    for number, cell in enumerate(cells):
        for strategy in cell.strategies:
            candidates.setdefault(name_on_all_runtimes(strategy), {})[number] = strategy
        pick = best_fixed(samples, number, cell, COSTS["sum"])
        if pick is not None:
            candidates.setdefault(THE_PICK, {})[number] = pick
    names = sorted(candidates, key=lambda name: (name == OURS, name == THE_PICK))
    return tuple(
        Calibration(
            name, reading, count_cells(cells, judged_of(cells, samples, reading, candidates[name]))
        )
        for reading in (DECIDING, BESIDE)
        for name in names
    )
