"""Rounds in which sides take turns in slices of 20 ms, and ratios of what lies milliseconds apart.

In each round all sides are started fresh, and stay up side by side; only one has the baton. In a
cycle each has a slice, in a new random order. A ratio is taken of two slices of the same cycle; the
median of these is the round's ratio, so that what differs between fresh processes, and stays the
same while they live, is between the rounds' ratios, and in their interval.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from statistics import median

from library.ends import Kind, Side
from library.sides.sending import SEED
from pairs import side_by_side

from tinygram_bench.model.result import Figure
from tinygram_bench.runs.slices import SLICE_NS
from tinygram_bench.statistics.figures.intervals import figure_of

Costs = Mapping[str, Sequence[float | None]]
"""Side → what it cost in each slice of a round, cycle by cycle; less is better, None: not known."""
_GROWTH = 4


def rounds(sides: Mapping[str, tuple[str, Kind]], number: int, cycles: int) -> Iterator[Costs]:
    """The cost of every slice of the sides, round by round. Raises RunError.

    `sides`: by name, the words and the kind of each.
    """
    dice = random.Random(SEED)
    for _ in range(number):
        with ExitStack() as stack:
            up = {name: Side(stack, words, kind) for name, (words, kind) in sides.items()}
            for side in up.values():
                side.start()
            for side in up.values():
                side.wait_ready()
            turns = {name: partial(side.turn, _calibrated(side)) for name, side in up.items()}
            side_by_side(turns, cycles, dice)
            yield {name: side.costs_ns(cycles) for name, side in up.items()}


def ratio_of(rounds: Sequence[Costs], above: str, below: str) -> Figure:
    """above ÷ below: of each round the median over its cycles, and how well these are known."""
    pairs = (zip(costs[above], costs[below], strict=True) for costs in rounds)
    return figure_of([median(a / b for a, b in of_one if a and b) for of_one in pairs])


def cost_of(rounds: Sequence[Costs], side: str) -> Figure:
    """The cost of a side, in ns: the median slice of each round."""
    return figure_of([median(cost for cost in costs[side] if cost) for costs in rounds])


def _calibrated(side: Side) -> int:
    """How many messages make a slice; it is warm when that is found."""
    count, step = side.kind.least, side.kind.step
    while (took_ns := side.turn(count)) < SLICE_NS / 2:
        count *= _GROWTH
    return max(side.kind.least, round(count * SLICE_NS / took_ns / step) * step)
