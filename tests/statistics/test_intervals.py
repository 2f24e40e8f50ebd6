"""Order-statistic intervals: they say how sure they are, and they are that sure."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import comb
from statistics import median

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import deterministic, flat_out

from tinygram_bench.model.result import Plan
from tinygram_bench.statistics.figures.intervals import (
    LOOKS,
    TARGET_COVERAGE,
    confidence_of,
    coverage,
    figure_of,
    interval_rank,
    looks_of,
)
from tinygram_bench.statistics.summary import summarise
from tinygram_bench.statistics.verdicts.comparison import compare

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


def exact_coverage(count: int, rank: int) -> Fraction:
    """How many of all that fall around the median have `rank` and more on either side."""
    return Fraction(sum(comb(count, below) for below in range(rank, count - rank + 1)), 2**count)


def test_every_look_covers_99_percent_and_all_together_95() -> None:
    """The union bound: what all looks miss together is at most the sum of what each misses."""
    ranks = {count: interval_rank(count, len(LOOKS)) for count in LOOKS}
    assert ranks == {8: 1, 12: 2, 18: 4, 27: 7, 40: 12}
    for count, rank in ranks.items():
        assert exact_coverage(count, rank) >= Fraction(99, 100) > exact_coverage(count, rank + 1)
    missed = sum(1 - exact_coverage(count, rank) for count, rank in ranks.items())
    assert missed <= Fraction(5, 100)
    for count in LOOKS:
        stated = confidence_of(count, len(LOOKS))
        assert TARGET_COVERAGE <= stated <= 1 - missed


@pytest.mark.parametrize("count", range(1, LOOKS[0]))
def test_fewer_rounds_than_the_first_look_needs_have_been_looked_at_once(count: int) -> None:
    assert interval_rank(count, len(LOOKS)) == 1
    assert confidence_of(count, len(LOOKS)) == confidence_of(count)


def test_a_plan_that_may_end_early_has_wider_intervals_everywhere() -> None:
    source = random.Random(3)
    rates = [source.uniform(900, 1_100) for _ in range(24)]
    plan, runs = flat_out({"loop/nodelay": rates[:12], "loop/nagle": rates[12:]})
    until = msgspec.structs.replace(plan, until_share=0.02)
    assert (looks_of(plan), looks_of(until)) == (1, 5)
    for each, rank in ((plan, 3), (until, 2)):
        summaries = summarise(each, runs)
        (found, _) = (summary.figures["throughput_per_s"] for summary in summaries)
        ordered = sorted(rates[:12])
        assert found is not None
        assert (found.low, found.high) == pytest.approx((ordered[rank - 1], ordered[-rank]))
        assert {summary.confidence for summary in summaries} == {confidence_of(12, looks_of(each))}
        ratios = sorted(b / a for a, b in zip(rates[:12], rates[12:], strict=True))
        (verdict,) = (
            one
            for one in compare(each, summaries, runs)
            if one.figure == "throughput_per_s" and one.case_id.startswith("loop/nagle")
        )
        assert verdict.ratio is not None
        assert (verdict.ratio.low, verdict.ratio.high) == pytest.approx(
            (ratios[rank - 1], ratios[-rank]), rel=1e-5
        )


def test_a_plan_without_them_is_stored_as_before() -> None:
    assert msgspec.to_builtins(Plan((), 7, 1)) == {"cases": (), "rounds": 7, "seed": 1}
    assert msgspec.to_builtins(Plan((), 40, 1, until_share=0.02, max_time_ns=10**9)) == {
        "cases": (),
        "rounds": 40,
        "seed": 1,
        "until_share": 0.02,
        "max_time_ns": 10**9,
    }
