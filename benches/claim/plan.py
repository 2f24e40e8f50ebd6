"""What is run in a round of a cell: every strategy at first, and then those that may be the best.

Most of a cell's time goes to what is near: a strategy that costs half as much again as the best one
needs no second decimal.
"""

from __future__ import annotations

from collections.abc import Iterable

from claim.grid import OURS, Cell, fixed_strategies
from claim.judging.compare import ALL_STRATEGIES_ROUNDS, PICKING_ROUNDS
from claim.judging.judge import Verdict
from claim.judging.picks import near_best, picking_figure
from claim.judging.samples import Samples

HOPELESS = 1.5
"""What costs so many times the best in the rounds so far is not run again while it is picked."""


def strategies_of(number: int, cell: Cell, round: int, samples: Samples) -> list[str]:
    """The strategies that a cell runs in a round (from 1), when those before it are finished."""
    if round <= ALL_STRATEGIES_ROUNDS:
        return list(cell.strategies)
    if round > PICKING_ROUNDS:
        return [*near_best(samples, number, cell), OURS]
    figure = picking_figure(samples, number, cell)
    costs = samples.picking_costs(number, fixed_strategies(cell.runtime), figure)
    most = HOPELESS * min(costs.values(), default=0.0)
    return [*(name for name, cost in costs.items() if cost <= most), OURS]


def undecided_cells(verdicts: Iterable[Verdict]) -> list[int]:
    """The cells that more rounds may decide, those first that are nearest to it."""
    left = [each for each in verdicts if each.may_be_decided]
    return [each.cell for each in sorted(left, key=lambda each: (each.lacking, each.cell))]


def cell_seconds(cell: Cell, strategies: int) -> float:
    """About how long a round of a cell takes, before any has run."""
    return 0.2 + strategies * 1.2 * cell.duration_ns / 1e9
