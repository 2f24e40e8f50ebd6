"""The median of a few rounds and how well it is known: order-statistic intervals.

If n values are drawn independently from one distribution, the number of them below its median is
binomial(n, ½), whatever the distribution is. So the k-th smallest and the k-th largest enclose the
median with probability 1 − 2·P(B < k) (at least that, where values tie). Source: H. A. David and
H. N. Nagaraja, Order Statistics, §7.1.

A plan that may end at several looks pays for each: its intervals are wider, so that together they
miss as seldom as one look of another plan does (decision 0024).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from statistics import median

from tinygram_bench.model.result import Figure, Plan

TARGET_COVERAGE = 0.95
LOOKS = (8, 12, 18, 27, 40)
"""The numbers of rounds after which a plan with `until_share` looks whether it ends."""


def looks_of(plan: Plan) -> int:
    """At how many looks the plan may end: at one, its last round, unless it has `until_share`."""
    return 1 if plan.until_share is None else len(LOOKS)


def figure_of(values: Sequence[float], looks: int = 1) -> Figure:
    """The median of `values` and the ends of its interval; ValueError when there are none.

    `looks`: at how many looks the plan of these values may end.
    """
    if not values:
        raise ValueError("a figure needs at least one value")
    ordered = sorted(values)
    rank = interval_rank(len(ordered), looks)
    return Figure(median=median(ordered), low=ordered[rank - 1], high=ordered[-rank])


def confidence_of(count: int, looks: int = 1) -> float:
    """How often `figure_of(count values, looks)` encloses the true median: 0 … 1.

    With several looks it is a lower bound: each of the others may miss, too (union bound). A plan
    that ends before the first of LOOKS had no other look.
    """
    if not count:
        return 0.0
    others = looks - 1 if count >= LOOKS[0] else 0
    return coverage(count, interval_rank(count, looks)) - others * _most_missed(looks)


@cache
def interval_rank(count: int, looks: int = 1) -> int:
    """The rank, from 1, of the interval's ends counted from either side.

    The interval is the narrowest symmetric one that covers at least 95 %, 99 % with five looks;
    where even the whole range covers less (five values or fewer, seven with five looks), it is the
    whole range.
    """
    target = 1 - _most_missed(looks)
    ranks = range(1, (count + 1) // 2 + 1)
    return max((rank for rank in ranks if coverage(count, rank) >= target), default=1)


def coverage(count: int, rank: int) -> float:
    """The probability that the `rank`-th smallest and largest of `count` enclose the median."""
    outside = sum(comb(count, below) for below in range(rank))
    return 1 - 2 * outside / (1 << count)


def _most_missed(looks: int) -> float:
    """How often each of `looks` looks may miss the median."""
    return (1 - TARGET_COVERAGE) / looks
