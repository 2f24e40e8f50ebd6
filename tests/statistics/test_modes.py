"""Two modes in one sample are found; the noise of one mode is not mistaken for two."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import deterministic

from tinygram_bench.statistics.figures.modes import find_modes

SAMPLES = 2_000
ROUNDS = 7


def test_rounds_on_one_core_and_rounds_on_two_are_told_apart() -> None:
    modes = find_modes([51.0, 13.1, 12.9, 50.2, 13.3, 52.4, 13.0])
    assert modes is not None
    assert modes.lower == (12.9, 13.0, 13.1, 13.3)
    assert modes.upper == (50.2, 51.0, 52.4)


@pytest.mark.parametrize("rounds", [6, 7, 10, 15])
@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_any_mixture_of_13_and_51_us_is_found(rounds: int, noise: float) -> None:
    source = random.Random(1)
    found = 0
    for _ in range(SAMPLES):
        low_count = source.randint(2, rounds - 2)
        centres = [13.0] * low_count + [51.0] * (rounds - low_count)
        found += find_modes([source.gauss(at, at * noise) for at in centres]) is not None
    assert found / SAMPLES > 0.99


def test_narrow_distributions_have_one_mode() -> None:
    source = random.Random(2)
    for _ in range(SAMPLES):
        assert find_modes([source.gauss(100, 5) for _ in range(ROUNDS)]) is None
        assert find_modes([source.uniform(90, 110) for _ in range(ROUNDS)]) is None


def test_wide_distributions_are_rarely_mistaken() -> None:
    source = random.Random(3)
    for draw, mean, deviation in ((source.gauss, 100, 50), (source.lognormvariate, 0, 0.5)):
        mistaken = sum(
            find_modes([draw(mean, deviation) for _ in range(ROUNDS)]) is not None
            for _ in range(SAMPLES)
        )
        assert mistaken / SAMPLES < 0.04


def test_one_outlier_is_no_mode() -> None:
    assert find_modes([13.0, 13.1, 12.9, 13.2, 13.0, 12.8, 51.0]) is None


def test_a_gap_counts_as_a_ratio() -> None:
    assert find_modes([100.0, 101.0, 119.0, 120.0]) is None
    assert find_modes([100.0, 101.0, 122.0, 123.0]) is not None
    # The upper group spans more than half the gap in µs, and less than half of it as a ratio.
    assert find_modes([1.0, 1.0, 8.0, 12.0]) is not None


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 9.0], [1.0, 1.0, 9.0], [5.0] * 7])
def test_too_few_or_equal_values_have_no_modes(values: list[float]) -> None:
    assert find_modes(values) is None


@deterministic
@given(st.lists(st.floats(0.1, 1e6), max_size=12))
def test_the_groups_are_the_whole_sample_apart(values: list[float]) -> None:
    modes = find_modes(values)
    if modes is not None:
        assert sorted(values) == [*modes.lower, *modes.upper]
        assert min(len(modes.lower), len(modes.upper)) >= 2
        assert modes.lower[-1] < modes.upper[0]


def _sizes(values: Iterable[float]) -> tuple[int, int] | None:
    modes = find_modes([*values])
    return None if modes is None else (len(modes.lower), len(modes.upper))


def _reversed(sizes: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if sizes is None else sizes[::-1]


@deterministic
@given(st.lists(st.integers(-40, 40), max_size=12))
def test_a_figure_and_its_reciprocal_have_the_same_modes(exponents: list[int]) -> None:
    # Powers of two: their reciprocals are exact.
    values = [2.0**each for each in exponents]
    assert _sizes(1 / value for value in values) == _reversed(_sizes(values))


@pytest.mark.parametrize("ratio", [1.0, 1.1, 1.2, 1.3, 2.0, 4.0])
def test_durations_and_their_rates_agree_in_noise(ratio: float) -> None:
    source = random.Random(4)
    for _ in range(SAMPLES):
        centres = [source.choice((13.0, 13.0 * ratio)) for _ in range(ROUNDS)]
        values = [at * source.lognormvariate(0, 0.03) for at in centres]
        assert _sizes(1 / value for value in values) == _reversed(_sizes(values))


@pytest.mark.parametrize("values", [[0.0, 0.0, 5.0, 5.0], [-5.0, -5.0, 5.0, 5.0]])
def test_values_without_a_logarithm_have_no_modes(values: list[float]) -> None:
    assert find_modes(values) is None


@deterministic
@given(st.lists(st.integers(1, 10**6), max_size=12))
def test_the_unit_is_of_no_account(values: list[int]) -> None:
    # 1024, not 1000: a power of two scales a float exactly.
    found = find_modes([float(value) for value in values])
    scaled = find_modes([value * 1024.0 for value in values])
    assert (found is None) == (scaled is None)
