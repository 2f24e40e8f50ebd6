"""How often `turns.targets --alike` has more than twice the differences that chance allows."""

from __future__ import annotations

import random
from itertools import combinations
from statistics import fmean

from turns.cases import ROUNDS
from turns.targets import NAMES

from tinygram_bench.statistics.figures.intervals import confidence_of


def shown(dice: random.Random) -> float:
    """The share of comparisons of cases that are the same in which all rounds are on one side."""
    cases = [[dice.random() for _ in range(ROUNDS)] for _ in range(NAMES)]
    sides = [
        sum(one > other for one, other in zip(*pair, strict=True))
        for pair in combinations(cases, 2)
    ]
    return sum(side in (0, ROUNDS) for side in sides) / len(sides)


def test_comparisons_that_share_their_cases_come_in_clumps() -> None:
    dice = random.Random(1)
    rows = [shown(dice) for _ in range(600)]
    allowed = 1 - confidence_of(ROUNDS)
    assert abs(fmean(rows) - allowed) < 0.004
    assert 0.05 < sum(row > 2 * allowed for row in rows) / len(rows) < 0.14
