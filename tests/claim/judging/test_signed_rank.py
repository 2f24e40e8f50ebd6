"""The interval of paired ratios covers what it says, whatever the noise is like."""

from __future__ import annotations

import random
from itertools import product
from math import exp, isclose

import pytest
from claim.judging.compare import LOOK_ERRORS, LOOKS, PICKING_ROUNDS
from claim.judging.signed_rank import NO_BOUND, interval_rank, ratio_of
from hypothesis import given
from hypothesis import strategies as st
from tests.claim.worlds import Noise, even_noise, heavy_noise

RATIOS = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=12)


@pytest.mark.parametrize("count", [1, 5, 6, 8])
def test_the_rank_is_what_counting_all_signs_gives(count: int) -> None:
    sums = [
        sum(rank for rank, sign in enumerate(signs, 1) if sign)
        for signs in product((False, True), repeat=count)
    ]
    for error in (0.01, 0.0313, 0.05, 0.2):
        rank = interval_rank(count, error)
        assert 2 * sum(total < rank for total in sums) <= error * len(sums)
        assert 2 * sum(total < rank + 1 for total in sums) > error * len(sums)


def test_the_looks_together_miss_at_most_one_time_in_twenty() -> None:
    assert sum(LOOK_ERRORS) <= 0.05
    for rounds, error in zip(LOOKS, LOOK_ERRORS, strict=True):
        assert interval_rank(rounds - PICKING_ROUNDS, error) >= 1, (
            "a look that could decide nothing"
        )


def test_too_few_ratios_have_no_interval() -> None:
    ratio = ratio_of([1.0] * 5, 0.05)
    assert (ratio.low, ratio.high) == (0.0, NO_BOUND)
    with pytest.raises(ValueError, match="no ratios"):
        ratio_of([], 0.05)


@pytest.mark.parametrize("noise", [even_noise(0.05), heavy_noise(0.05)])
@pytest.mark.parametrize("count", [6, 9, 12])
def test_the_interval_covers_the_middle_as_often_as_it_promises(noise: Noise, count: int) -> None:
    lot = random.Random(count)
    experiments = 2_000
    misses = 0
    for _ in range(experiments):
        ratio = ratio_of([1.3 * noise(lot) for _ in range(count)], 0.05)
        misses += not ratio.low <= 1.3 <= ratio.high
    # Three standard deviations above 5 %.
    assert misses <= experiments * 0.05 + 3 * (experiments * 0.05 * 0.95) ** 0.5


@given(RATIOS)
def test_turning_the_ratio_round_turns_its_interval_round(ratios: list[float]) -> None:
    once = ratio_of(ratios, 0.05)
    turned = ratio_of([1 / ratio for ratio in ratios], 0.05)
    assert isclose(once.median, 1 / turned.median)
    if once.low:
        assert isclose(once.low, 1 / turned.high)


@given(RATIOS, st.floats(-2, 2))
def test_it_moves_with_its_ratios(ratios: list[float], shift: float) -> None:
    once = ratio_of(ratios, 0.05)
    moved = ratio_of([ratio * exp(shift) for ratio in ratios], 0.05)
    assert isclose(moved.median, once.median * exp(shift), rel_tol=1e-9)
    assert once.low <= once.median <= once.high


def test_one_bad_round_does_not_move_it_far() -> None:
    good = [0.98, 1.0, 1.01, 0.99, 1.02, 1.0, 1.0, 0.99, 1.01]
    spoilt = ratio_of([*good, 50.0], 0.05)
    assert 0.97 < spoilt.median < 1.03
