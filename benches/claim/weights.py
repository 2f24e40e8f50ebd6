"""Delay + CPU time, whatever they are worth: ours ÷ the best fixed strategy's for several weights.

With both in µs, and 1 µs of CPU as much as 1 µs of delay, this agrees with the yardstick's delay +
λ × writes, λ being what a write costs (Dooly, Goldman and Scott, JACM 2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from claim.compare import compared
from claim.doubts import is_overloaded
from claim.grid import OURS, Cell
from claim.picks import best_fixed
from claim.samples import Samples, weighed
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value

WEIGHTS: Mapping[str, tuple[float, float]] = {
    "0": (1, 0),
    "¼": (1, 0.25),
    "1": (1, 1),
    "4": (1, 4),
    "∞": (0, 1),
}
"""CPU's weight → the factors of delay and of CPU."""


class Weighed(Value, frozen=True):
    """Our delay + weight × CPU ÷ that of the best fixed strategy, picked at that weight."""

    cell: int
    weight: str
    best: str
    ratio: Figure


def weighed_of(cells: Sequence[Cell], samples: Samples) -> tuple[Weighed, ...]:
    """Each weight in each paced cell that was measured and in which the best keeps up."""
    found = []
    for number, cell in enumerate(cells):
        if cell.rate_per_s is None:
            continue
        for weight, factors in WEIGHTS.items():
            cost = weighed(*factors)
            best = best_fixed(samples, number, cell, cost)
            if best is None or is_overloaded(samples, number, cell, best):
                continue
            ratio = compared(samples.costs(number, OURS, cost), samples.costs(number, best, cost))
            if ratio is not None:
                found.append(Weighed(number, weight, best, ratio))
    return tuple(found)
