"""The fixed strategies that ours has to stand beside in a cell, picked by the first rounds."""

from __future__ import annotations

from claim.grid import Cell, fixed_strategies
from claim.judging.compare import ALL_STRATEGIES_ROUNDS, PICKING_ROUNDS, picked
from claim.judging.counts import KERNEL_HOLDS, predicted
from claim.judging.doubts import is_overloaded
from claim.judging.samples import Samples
from claim.runs import FigureName


def picking_figure(samples: Samples, number: int, cell: Cell) -> FigureName:
    """What a cell is picked and decided by: delay + CPU, and flat out the time per message.

    Where no fixed strategy keeps up with the rate, latencies grow with the length of a slice, and
    the CPU time of a message is what says how many can be sent.
    """
    if cell.rate_per_s is None:
        return "throughput"
    there = samples.picking_costs(number, fixed_strategies(cell.runtime), "sum")
    able = [name for name in there if not is_overloaded(samples, number, cell, name)]
    return "sum" if able or not there else "cpu"


def best_fixed(samples: Samples, number: int, cell: Cell) -> str | None:
    """What costs least by the median of the rounds that pick; None where none has any.

    What cannot keep up with the rate is not picked, unless nothing can.
    """
    figure = picking_figure(samples, number, cell)
    costs = samples.picking_costs(number, fixed_strategies(cell.runtime), figure)
    able = [name for name in costs if not is_overloaded(samples, number, cell, name)]
    return min(able or costs, key=costs.__getitem__, default=None)


def near_best(samples: Samples, number: int, cell: Cell) -> tuple[str, ...]:
    """The best, and those that the rounds that pick do not show to cost more, by either."""
    best = best_fixed(samples, number, cell)
    if best is None:
        return ()
    figure = picking_figure(samples, number, cell)
    near = [best]
    for name in fixed_strategies(cell.runtime):
        ratios = samples.ratios(number, name, best, figure)
        of_picking = [round for round in ratios if round <= PICKING_ROUNDS]
        ratio = picked(ratios)
        # What was hopeless has been left out of most of them.
        is_there = ratio is not None and len(of_picking) > ALL_STRATEGIES_ROUNDS
        is_able = figure == "cpu" or not is_overloaded(samples, number, cell, name)
        if name != best and is_able and is_there and ratio is not None and ratio.low <= 1:
            near.append(name)
    return (
        best,
        *(name for name in near[1:] if not _costs_more(samples, number, cell, name, best)),
    )


def _costs_more(samples: Samples, number: int, cell: Cell, name: str, best: str) -> bool:
    """Whether counts of the rounds that pick show that it costs more than the best one."""
    if cell.rate_per_s is None or best == KERNEL_HOLDS:
        return False
    counted = predicted(samples.of_picking, number, cell, name, best, picked)
    return counted is not None and counted.low > 1
