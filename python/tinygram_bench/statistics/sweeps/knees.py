"""The knee of a curve: where its cost begins to rise faster, or no longer falls as it did.

It is the point that lies farthest below the straight line from the first point to the last, both
axes logarithmic: V. Satopää, J. Albrecht, D. Irwin, B. Raghavan, Finding a "Kneedle" in a Haystack,
ICDCS Workshops 2011, without its smoothing: each round gives a knee of its own, and their median
and its order-statistic interval are told. The interval reaches to the neighbouring points, because
the bend may lie anywhere between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from statistics import median

from msgspec import Struct

from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of, interval_rank

LEAST_POINTS = 5
LEAST_ROUNDS = 6
"""From fewer rounds no interval is sure enough, as in verdicts."""
LEAST_BEND = 0.1
"""The cost at a knee is lower than the straight line by this share at least."""


class Knee(Struct, frozen=True):
    """`at`: where it is, in the unit of the sweep's values.

    `is_flattening`: from there on the cost falls less than before, as of throughput that saturates;
    else it rises faster. Of the two slopes beside the knee, the steeper one decides.
    """

    at: Figure
    is_flattening: bool


def knee_of(
    values: Sequence[float], rounds: Sequence[Sequence[float]], *, is_higher_better: bool = False
) -> Knee | None:
    """Where the curve of the cost bends upwards; None where that is not shown.

    `rounds`: the figure in each round of each point; points without any are left out.
    """
    known = [at for at, each in enumerate(rounds) if each and min(each) > 0]
    count = min((len(rounds[at]) for at in known), default=0)
    if len(known) < LEAST_POINTS or count < LEAST_ROUNDS:
        return None
    at_values = [log(values[at]) for at in known]
    sign = -1.0 if is_higher_better else 1.0
    costs = [[sign * log(rounds[at][number]) for at in known] for number in range(count)]
    below = [_below_the_line(at_values, each) for each in costs]
    inner = range(1, len(known) - 1)
    most = max(inner, key=lambda at: median(each[at] for each in below))
    bent = sum(each[most] > -log(1 - LEAST_BEND) for each in below)
    if bent < count - interval_rank(count) + 1:
        return None
    knees = [max(inner, key=each.__getitem__) for each in below]
    interval = [figure_of([values[known[at + beside]] for at in knees]) for beside in (-1, 0, 1)]
    slopes = median(_slopes_beside(most, at_values, each) for each in costs)
    return Knee(
        Figure(interval[1].median, low=interval[0].low, high=interval[2].high),
        is_flattening=slopes < 0,
    )


def _slopes_beside(at: int, values: Sequence[float], costs: Sequence[float]) -> float:
    """The slope before the point and that after it, added up: below 0 where a fall is steeper."""
    return sum(
        (costs[right] - costs[left]) / (values[right] - values[left])
        for left, right in ((at - 1, at), (at, at + 1))
    )


def _below_the_line(values: Sequence[float], costs: Sequence[float]) -> list[float]:
    slope = (costs[-1] - costs[0]) / (values[-1] - values[0])
    return [
        costs[0] + slope * (value - values[0]) - cost
        for value, cost in zip(values, costs, strict=True)
    ]
