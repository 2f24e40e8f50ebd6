"""The median of a few rounds and how well it is known: order-statistic intervals.

If n values are drawn independently from one distribution, the number of them below its median is
binomial(n, ½), whatever the distribution is. So the k-th smallest and the k-th largest enclose the
median with probability 1 − 2·P(B < k) (at least that, where values tie). Source: H. A. David and
H. N. Nagaraja, Order Statistics, §7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import median

from tinygram_bench.model.result import Figure

TARGET_COVERAGE = 0.95


def figure_of(values: Sequence[float]) -> Figure:
    """The median of `values` and the ends of its interval; ValueError when there are none."""
    if not values:
        raise ValueError("a figure needs at least one value")
    ordered = sorted(values)
    rank = interval_rank(len(ordered))
    return Figure(median=median(ordered), low=ordered[rank - 1], high=ordered[-rank])


def confidence_of(count: int) -> float:
    """How often `figure_of(count values)` encloses the true median: 0 … 1."""
    return coverage(count, interval_rank(count)) if count else 0.0


def interval_rank(count: int) -> int:
    """The rank, from 1, of the interval's ends counted from either side.

    It is the narrowest symmetric interval that covers at least 95 %; where even the whole range
    covers less (five values or fewer), it is the whole range.
    """
    ranks = range(1, (count + 1) // 2 + 1)
    return max((rank for rank in ranks if coverage(count, rank) >= TARGET_COVERAGE), default=1)


def coverage(count: int, rank: int) -> float:
    """The probability that the `rank`-th smallest and largest of `count` enclose the median."""
    outside = sum(comb(count, below) for below in range(rank))
    return 1 - 2 * outside / (1 << count)
