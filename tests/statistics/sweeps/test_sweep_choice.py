"""A sweep's points: spread first, then where the curve bends or something changes; not endless."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import deterministic

from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.sweeps.choice import (
    MOST_POINTS,
    NEAREST,
    Seen,
    brackets,
    first_values,
    next_values,
    rounded,
)

LOW, HIGH = 1_000.0, 500_000.0
ROUNDS = 7
Curve = Callable[[float], float]


def hockey_stick(knee: float) -> Curve:
    return lambda rate: 20.0 * max(1.0, rate / knee) ** 3


def measured(curve: Curve, values: Sequence[float], noise: float, seed: int) -> tuple[Figure, ...]:
    """The curve with seven rounds at each value, each off by a normal share of it."""
    random_ = random.Random(seed)
    return tuple(
        figure_of([curve(value) * random_.lognormvariate(0, noise) for _ in range(ROUNDS)])
        for value in values
    )


def swept(*curves: Curve, noise: float = 0.0, limit: float | None = None) -> tuple[float, ...]:
    """All points of a sweep of these curves."""
    values = first_values(LOW, HIGH)
    while True:
        figures = [measured(curve, values, noise, seed) for seed, curve in enumerate(curves)]
        signs = [
            [-1 if one.low >= limit else int(one.high < limit) for one in each]
            for each in figures
            if limit is not None
        ]
        if len(figures) == 2:
            signs.append(
                [
                    (a.median < b.median) - (a.median > b.median)
                    for a, b in zip(*figures, strict=True)
                ]
            )
        more = next_values(Seen(values, tuple(figures), tuple(map(tuple, signs))))
        if not more:
            return values
        assert not set(more) & set(values)
        values = tuple(sorted((*values, *more)))
        assert len(values) <= MOST_POINTS


def gap_around(values: Sequence[float], at: float) -> float:
    """The ratio of the two points between which `at` lies."""
    return next(above / below for below, above in pairwise(values) if below <= at <= above)


@given(low=st.floats(1, 1e6), ratio=st.floats(1.001, 1e6))
@deterministic
def test_the_first_points_are_the_ends_and_some_between(low: float, ratio: float) -> None:
    values = first_values(low, low * ratio)
    assert (values[0], values[-1]) == (low, low * ratio)
    assert 2 <= len(values) <= 5
    assert list(values) == sorted(set(values))


def test_the_first_points_are_evenly_spread_over_the_logarithm() -> None:
    assert first_values(1_000, 10_000_000) == (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


def test_values_have_three_digits() -> None:
    assert rounded(21_732.6, LOW, HIGH) == 21_700
    assert rounded(3.4, 1, 10) == 3
    assert rounded(1.02, 1.01, 1.03) == 1.02


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("knee", [4_000, 38_000, 120_000])
def test_points_gather_at_a_bend(knee: float, noise: float) -> None:
    values = swept(hockey_stick(knee), noise=noise)
    assert gap_around(values, knee) <= 1.6 < (HIGH / LOW) ** 0.25


def test_a_straight_line_needs_no_more_points() -> None:
    assert swept(lambda rate: rate**0.5) == first_values(LOW, HIGH)


@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_noise_alone_gets_few_points(noise: float) -> None:
    assert len(swept(lambda _rate: 20.0, noise=noise)) <= 7


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_points_close_in_on_a_crossing(noise: float) -> None:
    values = swept(lambda rate: 20.0 * (rate / 38_000) ** 0.5, lambda _rate: 20.0, noise=noise)
    assert gap_around(values, 38_000) <= 1.35


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_points_close_in_on_a_limit(noise: float) -> None:
    values = swept(hockey_stick(38_000), limit=1_000.0, noise=noise)
    assert gap_around(values, 38_000 * 50 ** (1 / 3)) <= 1.25


@given(
    figures=st.lists(st.one_of(st.none(), st.floats(0, 1e9)), min_size=5, max_size=MOST_POINTS),
    signs=st.lists(st.sampled_from([-1, 0, 1]), min_size=5, max_size=MOST_POINTS),
)
@deterministic
def test_new_points_lie_between_the_old_ones_and_are_few(
    figures: list[float | None], signs: list[int]
) -> None:
    count = min(len(figures), len(signs))
    values = tuple(float(2**at) for at in range(count))
    seen = Seen(
        values,
        (tuple(None if one is None else Figure(one, one, one) for one in figures[:count]),),
        (tuple(signs[:count]),),
    )
    more = next_values(seen)
    assert len(more) <= min(2, MOST_POINTS - count)
    assert len(set(more)) == len(more)
    assert all(values[0] < each < values[-1] and each not in values for each in more)


def test_no_gap_is_halved_that_is_narrow() -> None:
    assert next_values(Seen((100.0, 100.0 * NEAREST), (), ((1, -1),))) == ()


def test_what_is_undecided_lies_within_a_bracket() -> None:
    assert list(brackets((1, 0, -1, -1, 0, 1, 0))) == [(0, 2), (3, 5)]
