"""The choice of a sweep's points: what was seen goes in, the next values come out.

The first points lie evenly on a logarithmic scale. After that a step adds up to two, each in the
middle of a gap, on that scale: in the widest gap in which the order of two ways changes, or the
limit begins to fail; and where a straight line between the points of a gap may miss a curve the
most, both axes logarithmic. A line misses a curve that bends once in the gap by a quarter of the
change of slope times the gap's width at most; that change is what the gaps on both sides show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp, log

from msgspec import Struct

from tinygram_bench.model.result import Figure

FIRST_POINTS = 5
MOST_POINTS = 12
NEAREST = 1.1
"""A gap between two points with a smaller ratio gets no point."""
LEAST_MISSED = 0.1
"""A straight line that misses a curve by less, as a share of it, is good enough."""
_DIGITS = 3


class Seen(Struct, frozen=True):
    """What is known at the points, `values`, the lowest first.

    `figures`: that of each curve at each point, None where it is not known. `signs`: rows of 1, -1,
    and 0 where nothing is shown; between 1 and -1 lies a change that is looked for.
    """

    values: tuple[float, ...]
    figures: tuple[tuple[Figure | None, ...], ...] = ()
    signs: tuple[tuple[int, ...], ...] = ()


def first_values(low: float, high: float) -> tuple[float, ...]:
    """Values from `low` to `high`: five, or fewer where they would be too near to each other."""
    count = min(FIRST_POINTS, 1 + max(1, int(log(high / low) / log(NEAREST))))
    between = (
        rounded(low * (high / low) ** (at / (count - 1)), low, high) for at in range(1, count - 1)
    )
    return tuple(sorted({low, *between, high}))


def next_values(seen: Seen) -> tuple[float, ...]:
    """At most two more values; none where no gap is worth it, or there are points enough."""
    room = MOST_POINTS - len(seen.values)
    chosen: dict[int, float] = {}
    for urgency in (_changes(seen), _misses(seen)):
        for gap, _ in sorted(urgency.items(), key=lambda each: (-each[1], each[0])):
            if gap in chosen:
                break  # One point serves both.
            middle = _middle(seen.values, gap)
            if middle is not None:
                chosen[gap] = middle
                break
    return tuple(sorted(chosen.values())[: max(0, room)])


def brackets(signs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring points with opposite signs; points with 0 are left out."""
    decided = [at for at, sign in enumerate(signs) if sign]
    for left, right in pairwise(decided):
        if signs[left] != signs[right]:
            yield left, right


def rounded(value: float, low: float, high: float) -> float:
    """A whole number of three digits if that is between `low` and `high`, else `value` as it is."""
    digits = _DIGITS - 1 - int(f"{value:e}".partition("e")[2])
    near = float(round(value, digits if digits < 0 else 0))
    return near if low <= near <= high else value


def _middle(values: Sequence[float], gap: int) -> float | None:
    """The value in the middle of a gap; None where that is too narrow."""
    low, high = values[gap], values[gap + 1]
    if high / low <= NEAREST:
        return None
    middle = rounded((low * high) ** 0.5, low, high)
    return middle if low < middle < high else None


def _changes(seen: Seen) -> dict[int, float]:
    """Gap → its width, for gaps in which a sign changes, or may change."""
    return {
        gap: log(seen.values[gap + 1] / seen.values[gap])
        for signs in seen.signs
        for left, right in brackets(signs)
        for gap in range(left, right)
    }


def _misses(seen: Seen) -> dict[int, float]:
    """Gap → how far a straight line in it may miss a curve, where that is more than noise."""
    found: dict[int, float] = {}
    for figures in seen.figures:
        for gap, missed in _misses_of(seen.values, figures):
            found[gap] = max(missed, found.get(gap, 0.0))
    return found


def _misses_of(
    values: Sequence[float], figures: Sequence[Figure | None]
) -> Iterator[tuple[int, float]]:
    known = [at for at, each in enumerate(figures) if each is not None and each.low > 0]
    logs = {at: log(each.median) for at in known if (each := figures[at]) is not None}
    noise = {at: log(each.high / each.low) / 2 for at in known if (each := figures[at])}
    widths = [log(values[b] / values[a]) for a, b in pairwise(known)]
    slopes = [
        (logs[b] - logs[a]) / width for a, b, width in zip(known, known[1:], widths, strict=False)
    ]
    for number, (left, right) in enumerate(pairwise(known)):
        if right != left + 1:
            continue  # Points between have no figure, and another one there would have none.
        beside = [slopes[at] for at in (number - 1, number + 1) if 0 <= at < len(slopes)]
        change = max((abs(each - slopes[number]) for each in beside), default=0.0)
        missed = change * widths[number] / 4
        uncertain = max(noise[left], noise[right])
        if exp(missed) - 1 > max(LEAST_MISSED, exp(min(uncertain, 100.0)) - 1):
            yield left, missed
