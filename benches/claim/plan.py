"""What is left to run: the rounds of all cells, then more rounds of those that are undecided.

How long a run takes is learned from the runs before it, so that more rounds are begun only when
they can be finished. Which cells get them, where not all can, is drawn by lot.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from claim.grid import COLD, OURS, TWICE, Cell, fixed_strategies, is_run_cold, is_run_twice
from claim.judge import LOOKS, Verdict
from claim.runs import Variant
from claim.samples import Samples, is_odd

HOPELESS = 1.5
"""A rival that costs so many times the best in the odd rounds, in each figure that is undecided, is
not run again: it would not be picked."""


@dataclass(frozen=True)
class Turn:
    """One run that is to be made."""

    cell: int
    strategy: str
    variant: Variant


def turns_of(number: int, cell: Cell, strategies: Collection[str]) -> list[Turn]:
    """All runs of a cell in a round, those that repeat a strategy among them."""
    turns = [Turn(number, strategy, "warm") for strategy in strategies]
    if is_run_twice(cell):
        turns += [Turn(number, strategy, "again") for strategy in TWICE if strategy in strategies]
    return turns


def cold_turns_of(number: int, cell: Cell) -> list[Turn]:
    """What fresh processes run, too, in the rounds that all cells have."""
    return [Turn(number, strategy, "cold") for strategy in COLD] if is_run_cold(cell) else []


def shuffled(turns: Sequence[Sequence[Turn]], seed: str) -> Iterator[Turn]:
    """The turns of one round: cells in random order, the runs of a cell one after the other."""
    lot = random.Random(seed)
    cells = [list(of_cell) for of_cell in turns]
    lot.shuffle(cells)
    for of_cell in cells:
        lot.shuffle(of_cell)
        yield from of_cell


def rounds_of_look(look: int) -> range:
    """The rounds, from 1, that end with that look."""
    return range(1 + (LOOKS[look - 1] if look else 0), LOOKS[look] + 1)


def strategies_left(
    cells: Sequence[Cell], samples: Samples, verdicts: Sequence[Verdict]
) -> dict[int, list[str]]:
    """Undecided cell → ours, and the rivals that may still be picked there."""
    left: dict[int, list[str]] = {}
    for verdict in verdicts:
        if verdict.outcome != "undecided":
            continue
        cell = cells[verdict.cell]
        medians = {}
        for strategy in fixed_strategies(cell.runtime):
            costs = samples.costs(verdict.cell, strategy, verdict.figure)
            odd = [cost for round, cost in costs.items() if is_odd(round)]
            if odd:
                medians[strategy] = median(odd)
        near = HOPELESS * min(medians.values())
        found = left.setdefault(verdict.cell, [OURS])
        found += [name for name in medians if medians[name] <= near and name not in found]
    return left


def run_seconds(cell: Cell) -> float:
    """About what a run takes, before any has run."""
    return 0.06 if cell.rate_per_s is None else 0.02 + cell.duration_ns / 1e9


def planned_seconds(cells: Sequence[Cell]) -> float:
    """About what one round of all cells takes."""
    return sum(
        len(turns_of(number, cell, cell.strategies)) * run_seconds(cell)
        for number, cell in enumerate(cells)
    )
