"""Order-statistic intervals: they say how sure they are, and they are that sure."""

from __future__ import annotations

import random
from itertools import product
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import deterministic

from tinygram_bench.statistics.figures.intervals import (
    confidence_of,
    coverage,
    figure_of,
    interval_rank,
)

values = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40)


@pytest.mark.parametrize("count", range(1, 13))
def test_coverage_is_that_of_every_way_in_which_values_fall_around_the_median(count: int) -> None:
    below_counts = [sum(sides) for sides in product((0, 1), repeat=count)]
    for rank in range(1, (count + 1) // 2 + 1):
        # The rank-th smallest and largest enclose the median: so many lie on either side of it.
        enclosing = sum(rank <= below <= count - rank for below in below_counts)
        assert coverage(count, rank) == pytest.approx(enclosing / 2**count)


@pytest.mark.parametrize(
    ("count", "confidence", "rank"),
    [
        (0, 0.0, 1),
        (1, 0.0, 1),
        (3, 0.75, 1),
        (5, 0.9375, 1),
        (6, 0.96875, 1),
        (7, 0.984375, 1),
        (8, 0.9921875, 1),
        (9, 0.9609375, 2),
    ],
)
def test_confidences_of_few_rounds(count: int, confidence: float, rank: int) -> None:
    assert confidence_of(count) == confidence
    assert interval_rank(count) == rank


@pytest.mark.parametrize("count", range(6, 80))
def test_it_is_the_narrowest_that_covers_95_percent(count: int) -> None:
    rank = interval_rank(count)
    assert coverage(count, rank) >= 0.95
    assert 2 * (rank + 1) > count + 1 or coverage(count, rank + 1) < 0.95


@deterministic
@given(values)
def test_the_interval_holds_the_median_and_ends_at_values(sample: list[float]) -> None:
    figure = figure_of(sample)
    assert figure.low <= figure.median <= figure.high
    assert figure.median == median(sample)
    assert {figure.low, figure.high} <= set(sample)


@deterministic
@given(values, st.randoms(use_true_random=False))
def test_the_order_of_rounds_is_of_no_account(sample: list[float], shuffler: random.Random) -> None:
    shuffled = list(sample)
    shuffler.shuffle(shuffled)
    assert figure_of(shuffled) == figure_of(sample)


def test_the_stated_confidence_is_how_often_the_true_median_is_covered() -> None:
    source = random.Random(7)
    true_median = 0.6931471805599453  # of the exponential distribution of mean 1: ln 2
    trials = 4_000
    figures = [figure_of([source.expovariate(1) for _ in range(7)]) for _ in range(trials)]
    covered = sum(figure.low <= true_median <= figure.high for figure in figures)
    assert covered / trials == pytest.approx(confidence_of(7), abs=0.006)


def test_no_values_have_no_figure() -> None:
    with pytest.raises(ValueError, match="at least one"):
        figure_of([])
