"""The margin follows what chance does on a runtime, and no further than a large loss."""

from __future__ import annotations

from claim.grid import OURS, Cell
from claim.judging.calibration import warmth_of
from claim.judging.margins import LARGE_LOSS, LARGEST_MARGIN, floors_of, margin_in
from claim.judging.samples import Samples
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, changed, even_noise, runs_of


def test_the_margin_follows_the_noise_and_no_further_than_its_limit() -> None:
    calm = floors_of([LOOP], Samples.of(runs_of([LOOP], noise=even_noise(0.002))))
    assert {floor.margin for floor in calm} == {0.05}
    runs = runs_of([LOOP], noise=even_noise(2.0), seed=2)
    wild = floors_of([LOOP], Samples.of(runs))
    assert {floor.margin for floor in wild} == {LARGEST_MARGIN}
    assert all(floor.floor > LARGEST_MARGIN for floor in wild)
    assert LARGEST_MARGIN <= LARGE_LOSS, "a large loss could be held"


def test_a_runtime_has_its_own_floor_and_an_unknown_one_the_smallest_margin() -> None:
    cells = [LOOP, Cell("asyncio", 10_000.0, "poisson", 1, 100)]
    runs = [
        changed(run, p50_ns=(run.p50_ns or 0) * 2)
        if (run.cell, run.variant) == (1, "again")
        else run
        for run in runs_of(cells)
    ]
    floors = floors_of(cells, Samples.of(runs))
    assert margin_in(floors, "p50", "loop") == 0.05
    assert margin_in(floors, "p50", "asyncio") == LARGEST_MARGIN
    assert margin_in(floors, "p99", "asyncio") == 0.05
    assert margin_in(floors, "p50", "threads") == 0.05


def test_adaptive_buys_itself_no_tolerance() -> None:
    unsteady = [
        changed(run, p50_ns=(run.p50_ns or 0) * (1 + run.round % 3), variant=variant)
        for run in runs_of([LOOP])
        if run.strategy == OURS
        for variant in ("warm", "again")
    ]
    others = [run for run in runs_of([LOOP]) if run.strategy != OURS]
    floors = floors_of([LOOP], Samples.of(others + unsteady))
    assert margin_in(floors, "p50", "loop") == 0.05


def test_warm_and_cold_are_both_adaptive_beside_nodelay() -> None:
    found = warmth_of(Samples.of(runs_of([LOOP, FLAT_OUT], {**EQUAL, OURS: 50_000.0})))
    assert {(each.cell, each.figure) for each in found} == {(0, "p50"), (0, "p99"), (0, "cpu")}
    for each in found:
        assert each.warm.low < 0.5 < each.warm.high
        assert each.cold.low < 0.5 < each.cold.high
