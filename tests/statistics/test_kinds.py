"""Slices of two kinds are found among those of a round; slices that something stopped are none."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tinygram_bench.statistics.figures.modes import find_kinds

ROUNDS = 400
STOPS_US: dict[str, Callable[[random.Random], float]] = {
    "ticks": lambda dice: dice.uniform(0, 4_000),
    "long stops": lambda dice: dice.uniform(1_000, 50_000),
    "mostly short stops": lambda dice: dice.expovariate(1 / 5_000),
}


def found(ratio: Callable[[random.Random], float], cycles: int) -> float:
    """The share of rounds whose cycles are said to be of two kinds."""
    dice = random.Random(1)
    of_rounds = ([ratio(dice) for _ in range(cycles)] for _ in range(ROUNDS))
    return sum(find_kinds(each) is not None for each in of_rounds) / ROUNDS


@pytest.mark.parametrize("stops", STOPS_US)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
@pytest.mark.parametrize(("cycles", "most"), [(20, 0.02), (50, 0.005), (250, 0.0)])
def test_slices_that_something_stopped_are_no_kind(
    stops: str, share: float, cycles: int, most: float
) -> None:
    def p50_us(dice: random.Random) -> float:
        stopped_us = STOPS_US[stops](dice) if dice.random() < share else 0
        return 25 * dice.lognormvariate(0, 0.05) + stopped_us

    assert found(lambda dice: p50_us(dice) / p50_us(dice), cycles) <= most


@pytest.mark.parametrize("deviation", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("cycles", [20, 50, 250])
def test_what_varies_has_one_kind(deviation: float, cycles: int) -> None:
    assert found(lambda dice: dice.lognormvariate(0, deviation), cycles) == 0


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("cycles", [20, 50, 250])
def test_slices_on_one_core_and_on_two_are_found(share: float, cycles: int) -> None:
    def ratio(dice: random.Random) -> float:
        middle_us = 51 if dice.random() < share else 13
        return middle_us / 13 * dice.lognormvariate(0, 0.05) / dice.lognormvariate(0, 0.05)

    assert found(ratio, cycles) > 0.85


def test_too_few_slices_have_no_kinds_and_neither_have_values_without_a_logarithm() -> None:
    assert find_kinds([1.0] * 10 + [4.0] * 10) is not None
    assert find_kinds([1.0] * 10 + [4.0] * 9) is None
    assert find_kinds([0.0] * 10 + [4.0] * 10) is None
