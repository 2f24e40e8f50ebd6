"""Crossovers: the value of the parameter at which the order of two ways changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp, log
from sys import float_info

from msgspec import Struct

from tinygram_bench.model.result import Case, Figure
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.sweeps.choice import brackets
from tinygram_bench.statistics.sweeps.curves import Swept

_LEAST_RATIO = float_info.min


class Crossover(Struct, frozen=True):
    """Below `at`, the case `below` is faster, above it `above`; `rounds`: how many tell this."""

    below: Case
    above: Case
    at: Figure
    rounds: int


def crossovers_of(swept: Swept) -> tuple[Crossover, ...]:
    """Every change of order between two points at which opposite orders are shown."""
    found = []
    for each in swept.pairings:
        for left, right in brackets(each.order):
            ways = (each.second, each.first)[:: each.order[left]]
            crossings = crossings_of(swept.values[left : right + 1], each.ratios[left : right + 1])
            found.append(
                Crossover(
                    ways[0].cases[left], ways[1].cases[right], figure_of(crossings), len(crossings)
                )
            )
    return tuple(found)


def crossings_of(values: Sequence[float], ratios: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The value at which the ratio crosses 1, in each round; the ends are the first and last value.

    The n-th rounds of all points are taken together. Between points, the ratio's logarithm is a
    straight line over that of the value. Points without a ratio are left out. A time that the
    clocks of two hosts do not tell from nothing makes a ratio of 0: it is on its side of 1, and as
    far from it as can be.
    """
    known = [(value, each) for value, each in zip(values, ratios, strict=True) if each]
    count = min(len(each) for _, each in known)
    return tuple(
        _crossing([(log(value), log(each[number] or _LEAST_RATIO)) for value, each in known], sign)
        for number in range(count)
        for sign in [_sign(known[0][1])]
    )


def _crossing(line: Sequence[tuple[float, float]], sign: int) -> float:
    """The first crossing of 0 by a line that begins on the side `sign`."""
    for (x, y), (next_x, next_y) in pairwise(line):
        if y * sign <= 0:
            return exp(x)
        if next_y * sign <= 0:
            return exp(x + (next_x - x) * y / (y - next_y))
    return exp(line[-1][0])


def _sign(ratios: Sequence[float]) -> int:
    return 1 if sorted(ratios)[len(ratios) // 2] > 1 else -1


def firsts(swept: Swept, crossovers: Sequence[Crossover]) -> Iterator[Crossover]:
    """The crossovers of two ways of which each is the first of its runtime at some point.

    Other crossovers do not change which way is best.
    """
    best: set[tuple[str, int]] = set()
    for at in range(len(swept.values)):
        ranked: dict[str, tuple[float, int]] = {}
        for number, curve in enumerate(swept.curves):
            figure = curve.figures[at]
            if figure is not None:
                cost = -figure.median if swept.is_higher_better else figure.median
                runtime = curve.cases[at].runtime
                ranked[runtime] = min(ranked.get(runtime, (cost, number)), (cost, number))
        best |= {(runtime, number) for runtime, (_, number) in ranked.items()}
    ids = {case.case_id for _, number in best for case in swept.curves[number].cases}
    for each in crossovers:
        if {each.below.case_id, each.above.case_id} <= ids:
            yield each
