"""Finds samples with two modes, such as one that ran sometimes on one core and sometimes on two.

The median of such a sample tells how often each mode came up and nothing about the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2
from typing import NamedTuple

MIN_MODE_ROUNDS = 2
MIN_GAP_PER_SPREAD = 2.0
MIN_RATIO = 1.2
MIN_KIND_VALUES = 20
MIN_KIND_SHARE = 0.2
ASTRAY_SHARE = 0.1
MAX_KIND_RATIO = 1.5


class Modes(NamedTuple):
    """The two groups of values, each sorted, the lower one first."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]


def find_modes(values: Sequence[float]) -> Modes | None:
    """Split `values` at their largest gap where that gap is no accident; else None.

    Gaps and ranges are ratios, so that a duration and the rate that it makes have the same modes;
    values that are not all above 0 have none. Each group has at least two values (a lone one is an
    outlier, which the interval shows); the logarithm of the gap is at least twice that of either
    group's range; and the values beside the gap differ by a fifth, below which two modes would not
    change what anybody does. The three limits were picked by simulation: of seven values of a
    normal distribution, they split none at 5 % deviation and 3 % of the samples at 50 %; of a
    mixture of 13 µs and 51 µs, each ± 5 %, all.
    """
    ordered = tuple(sorted(values))
    splits = range(MIN_MODE_ROUNDS, len(ordered) - MIN_MODE_ROUNDS + 1)
    if not splits or ordered[0] <= 0:
        return None
    logs = [log2(value) for value in ordered]
    split = max(splits, key=lambda at: logs[at] - logs[at - 1])
    gap = logs[split] - logs[split - 1]
    widest = max(logs[split - 1] - logs[0], logs[-1] - logs[split])
    if gap < max(MIN_GAP_PER_SPREAD * widest, log2(MIN_RATIO)):
        return None
    return Modes(ordered[:split], ordered[split:])


def find_kinds(values: Sequence[float]) -> Modes | None:
    """Split many `values`, as of the cycles of a round, into two kinds; None where there is one.

    As `find_modes`, but a tenth of each group may be astray at either end: where a host stops now
    and then, some slices are like no other. There are at least 20 values, a fifth of them in each
    group, and a group spans a factor of 1.5 at most: stops have any length, and are no kind. Picked
    by simulation (tests/statistics/test_kinds.py): with 5 % to 40 % of the slices stopped, 2 % of
    samples of 20 are split, of 50 or more 0.5 %; of mixtures of 13 µs and 51 µs, each ± 5 % and at
    least 30 % of the slices, nine in ten.
    """
    ordered = tuple(sorted(values))
    least = ceil(len(ordered) * MIN_KIND_SHARE)
    if len(ordered) < MIN_KIND_VALUES or ordered[0] <= 0:
        return None
    logs = [log2(value) for value in ordered]
    splits = [at for at in range(least, len(logs) - least + 1) if _are_kinds(logs[:at], logs[at:])]
    if not splits:
        return None
    split = max(splits, key=lambda at: logs[at] - logs[at - 1])
    return Modes(ordered[:split], ordered[split:])


def _are_kinds(lower: Sequence[float], upper: Sequence[float]) -> bool:
    (first, below), (above, last) = _inner(lower), _inner(upper)
    spread = max(below - first, last - above)
    is_apart = above - below >= max(MIN_GAP_PER_SPREAD * spread, log2(MIN_RATIO))
    return is_apart and spread <= log2(MAX_KIND_RATIO)


def _inner(ordered: Sequence[float]) -> tuple[float, float]:
    """The ends of what is left without a tenth of the values at either end."""
    astray = int(len(ordered) * ASTRAY_SHARE)
    return ordered[astray], ordered[-1 - astray]
