"""The model of `sizes` is found where it is, told as not found where it cannot be, and robust."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.measured.sizes import measured
from tests.support.plans.sizes import ROUNDS, planned

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case
from tinygram_bench.report.published.sizes import published_points
from tinygram_bench.statistics.sizes_fits import fits_of, local_parts
from tinygram_bench.statistics.sizes_model import Model, Point, fitted

SIZES = [10**power for power in range(7)]
TRIPS = [0, 1, 2]
TRUTH = Model(setup_us=50.0, latency_us=20.0, us_per_byte=1 / 4_000)


def points(model: Model, sizes: list[int] = SIZES, trips: list[int] = TRIPS) -> list[Point]:
    return [Point(size, count, model.time_us(size, count)) for size in sizes for count in trips]


@given(
    setup_us=st.floats(10, 10_000), latency_us=st.floats(5, 10_000), mb_per_s=st.floats(1, 10_000)
)
def test_what_follows_the_model_is_found(
    setup_us: float, latency_us: float, mb_per_s: float
) -> None:
    found = fitted(points(Model(setup_us, latency_us, 1 / mb_per_s)))
    assert found is not None
    assert found.setup_us == pytest.approx(setup_us, rel=1e-6)
    assert found.latency_us == pytest.approx(latency_us, rel=1e-4)
    assert found.mb_per_s == pytest.approx(mb_per_s, rel=1e-4)


def test_half_and_nine_tenths_of_the_bandwidth_are_where_they_are_said() -> None:
    half, most = TRUTH.n_half_bytes, TRUTH.n90_bytes
    assert half == pytest.approx(80_000)
    assert most == pytest.approx(720_000)
    for size, share in ((80_000, 0.5), (720_000, 0.9)):
        trip_us = TRUTH.time_us(size, 1) - TRUTH.setup_us
        assert size / trip_us == pytest.approx(share * 4_000)


def test_a_few_cells_that_took_far_longer_do_not_bend_it() -> None:
    cells = points(TRUTH)
    cells[4] = Point(cells[4].size_bytes, cells[4].trips, cells[4].time_us * 10)
    cells[11] = Point(cells[11].size_bytes, cells[11].trips, cells[11].time_us * 3)
    found = fitted(cells)
    assert found is not None
    assert found.setup_us == pytest.approx(TRUTH.setup_us, rel=0.02)
    assert found.latency_us == pytest.approx(TRUTH.latency_us, rel=0.05)
    assert found.mb_per_s == pytest.approx(4_000, rel=0.05)
    assert found.residual(cells[4]) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    ("sizes", "trips"), [(SIZES, [1]), (SIZES, [0]), ([100], [0, 1, 2]), ([], [0, 1])]
)
def test_cells_that_do_not_tell_the_parameters_apart_have_no_model(
    sizes: list[int], trips: list[int]
) -> None:
    assert fitted(points(TRUTH, sizes, trips)) is None


def test_larger_messages_that_take_no_longer_have_no_bandwidth() -> None:
    found = fitted([Point(size, count, 50.0 + 20 * count) for size in (1, 9) for count in TRIPS])
    assert found is not None
    shrinking = Model(found.setup_us, found.latency_us, -abs(found.us_per_byte))
    assert (shrinking.mb_per_s, shrinking.n_half_bytes, shrinking.n90_bytes) == (None, None, None)


def modelled_us(case: Case, drift: float = 1.0) -> float:
    trips = SizesParameters.of(case).round_trips
    assert isinstance(trips, int)
    return TRUTH.time_us(case.message_bytes.max, trips) * drift


def test_a_parameter_is_the_median_of_the_rounds_with_its_interval() -> None:
    drift = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98]
    result = measured(planned(), lambda case, round: modelled_us(case, drift[round]))
    (fit,) = fits_of(result.plan, result.runs)
    assert len(fit.models) == ROUNDS
    latency = fit.figures()["model_latency_us"]
    assert latency is not None
    assert latency.median == pytest.approx(20, rel=0.02)
    assert latency.low == pytest.approx(18, rel=0.02)
    assert latency.high == pytest.approx(22, rel=0.02)
    predicted = fit.predicted_us(400_000, 2)
    assert predicted is not None
    assert predicted.median == pytest.approx(50 + 2 * 120, rel=0.02)
    # A drift of all cells alike is none of the model's.
    residual = fit.residual_percent(fit.cases[0])
    assert residual is not None
    assert abs(residual.median) < 0.5


def test_a_case_that_failed_in_every_round_leaves_the_others_their_model() -> None:
    plan = planned()
    result = measured(plan, lambda case, _: modelled_us(case))
    runs = [run for run in result.runs if run.case_id != plan.cases[0].case_id]
    (fit,) = fits_of(plan, runs)
    assert len(fit.models) == ROUNDS
    assert fit.residual_percent(plan.cases[0]) is None


def test_each_way_has_its_own_model() -> None:
    plan = planned(setup_writes=[1, 2], strategies=["nodelay", "nagle"])
    result = measured(plan, lambda case, _: modelled_us(case))
    fits = fits_of(plan, result.runs)
    assert [len(fit.cases) for fit in fits] == [6, 9, 6, 9]


def test_local_parts_are_differences_of_the_same_round() -> None:
    parts_us = {"system-call": 0.1, "one-thread": 10.0, "same-core": 14.0, "other-core": 45.0}

    def time_us(case: Case, round: int) -> float:
        part = SizesParameters.of(case).part
        return modelled_us(case) if part is None else parts_us[str(part)] + round

    plan = planned(has_local=True)
    found = local_parts(plan, measured(plan, time_us).runs)
    same = found["same core"]
    assert same is not None
    assert same.median == pytest.approx(4.0, rel=0.02)
    # The interval, too: what all parts share in a round is in none of the differences.
    assert same.high - same.low < 0.2


def test_without_local_parts_nothing_is_said_of_them() -> None:
    plan = planned()
    found = local_parts(plan, measured(plan, lambda case, _: modelled_us(case)).runs)
    assert set(found.values()) == {None}


def test_the_published_measurements_have_a_model_each() -> None:
    networks = published_points()
    assert {name: len(cells) for name, cells in networks.items()} == {
        "gigabit-ethernet": 21,
        "fast-ethernet": 21,
        "campus-wifi": 21,
        "same-machine": 21,
    }
    models = {name: fitted(cells) for name, cells in networks.items()}
    rates = {name: model.mb_per_s for name, model in models.items() if model is not None}
    # The wire's own: 125 and 12.5 MB/s.
    assert 90 < (rates["gigabit-ethernet"] or 0) < 135
    assert 10 < (rates["fast-ethernet"] or 0) < 13
