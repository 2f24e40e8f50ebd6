"""Which fixed strategies `adaptive` has to stand beside: the readings of "the best fixed strategy".

All picks are made in the odd rounds alone, so that luck in picking is none in comparing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from claim.grid import Cell, fixed_strategies
from claim.judging.compare import compared
from claim.judging.doubts import is_overloaded
from claim.judging.samples import COSTS, Cost, FigureName, Samples, weighed

Reading = Literal["one", "one ¼", "one 4", "each", "all"]
DECIDING: Reading = "one"
"""The reading whose goals decide."""
BESIDE: Reading = "each"
"""The harder one, whose goals are told beside."""
READINGS: Mapping[Reading, str] = {
    "one": "one strategy per cell",
    "one ¼": "one strategy per cell, CPU × ¼",
    "one 4": "one strategy per cell, CPU × 4",
    "each": "each figure's own best",
    "all": "all fixed strategies at once",
}
_CPU_WEIGHTS: Mapping[Reading, float] = {"one": 1, "one ¼": 0.25, "one 4": 4}


def rivals_of(
    reading: Reading, samples: Samples, number: int, cell: Cell, figure: FigureName
) -> tuple[str, ...]:
    """The strategies that a figure of a cell is compared with; none where nothing was measured.

    `one`: the strategy with the least mean delay + CPU time of a message, and all that are not
    shown to be worse than it. `each`: the best in the figure itself.
    """
    if reading == "all":
        return tuple(samples.odd_medians(number, fixed_strategies(cell.runtime), COSTS[figure]))
    if reading == "each":
        best = best_fixed(samples, number, cell, COSTS[figure])
        return () if best is None else (best,)
    return near_best(samples, number, cell, weighed(1, _CPU_WEIGHTS[reading]))


def best_fixed(samples: Samples, number: int, cell: Cell, cost: Cost) -> str | None:
    """What costs least by the median of the odd rounds; None where none has any.

    What cannot keep up with the rate is not picked, unless nothing can.
    """
    medians = samples.odd_medians(number, fixed_strategies(cell.runtime), cost)
    able = [name for name in medians if not is_overloaded(samples, number, cell, name)]
    return min(able or medians, key=medians.__getitem__, default=None)


def near_best(samples: Samples, number: int, cell: Cell, cost: Cost) -> tuple[str, ...]:
    """The best, and those whose cost is not shown to be higher in the odd rounds."""
    best = best_fixed(samples, number, cell, cost)
    if best is None:
        return ()
    of_best = samples.costs(number, best, cost)
    near = [best]
    for name in fixed_strategies(cell.runtime):
        ratio = compared(samples.costs(number, name, cost), of_best, "odd")
        is_able = not is_overloaded(samples, number, cell, name)
        if name != best and is_able and ratio is not None and ratio.low <= 1:
            near.append(name)
    return tuple(near)
