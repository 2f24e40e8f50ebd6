"""Which strategies a reading stands ours beside, and what each weight of CPU makes the best."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell
from claim.judging.calibration import THE_PICK, WEIGHTS, calibrations_of, weighed_of
from claim.judging.picks import READINGS, Reading, best_fixed, near_best, rivals_of
from claim.judging.samples import COSTS, Samples
from claim.runs import Measured
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, even_noise, late, runs_of

QUICK = {**EQUAL, "nodelay": 60_000.0, "coalesce:1ms": 500_000.0}
THRIFTY = {**EQUAL, "nodelay": 100_000.0, "coalesce:1ms": 20_000.0}
"""Delay and CPU: 160 µs together for `nodelay`, 200 for most, 520 for `coalesce:1ms`."""


def rivals(reading: Reading, figure: str, runs: list[Measured]) -> tuple[str, ...]:
    name = next(each for each in COSTS if each == figure)
    return rivals_of(reading, Samples.of(runs), 0, LOOP, name)


def test_one_strategy_per_cell_is_the_one_with_the_least_delay_and_cpu() -> None:
    runs = runs_of([LOOP], QUICK, cpu_ns=THRIFTY)
    for figure in ("p50", "p99", "cpu"):
        assert rivals("one", figure, runs) == ("nodelay",)
    assert rivals("each", "p50", runs) == ("nodelay",)
    assert rivals("each", "cpu", runs) == ("coalesce:1ms",)
    assert set(rivals("all", "p50", runs)) == set(LOOP.strategies) - {OURS}


def test_what_cpu_is_worth_picks_another() -> None:
    cpu = {**THRIFTY, "nodelay": 300_000.0}
    runs = runs_of([LOOP], QUICK, cpu_ns=cpu)
    found = {each.weight: each.best for each in weighed_of([LOOP], Samples.of(runs))}
    assert found["0"] == "nodelay"
    assert found["∞"] == "coalesce:1ms"
    assert list(found) == list(WEIGHTS)
    # 60 + ¼ × 300 = 135 µs against 125 of the others; 4 × 20 + 500 = 580 against 500.
    assert "nodelay" not in rivals("one ¼", "p50", runs)
    assert "coalesce:1ms" not in rivals("one 4", "p50", runs)


def test_ours_beside_the_best_is_the_ratio_of_the_world() -> None:
    costs = {**EQUAL, OURS: 150_000.0}
    for each in weighed_of([LOOP, FLAT_OUT], Samples.of(runs_of([LOOP, FLAT_OUT], costs))):
        assert each.ratio.median == pytest.approx(1.5, rel=0.02)


def test_near_ties_are_all_rivals_and_what_is_clearly_worse_is_none() -> None:
    costs = {**EQUAL, "nagle": 99_900.0, "coalesce:1ms": 150_000.0}
    samples = Samples.of(runs_of([LOOP], costs, noise=even_noise(0.02)))
    near = near_best(samples, 0, LOOP, COSTS["sum"])
    assert near[0] == best_fixed(samples, 0, LOOP, COSTS["sum"])
    assert "nagle" in near
    assert len(near) > 2
    assert "coalesce:1ms" not in near


def test_what_cannot_keep_up_is_picked_only_where_nothing_can() -> None:
    costs = {**EQUAL, "nagle": 50_000.0}
    samples = Samples.of(late(runs_of([LOOP], costs), "nagle"))
    assert best_fixed(samples, 0, LOOP, COSTS["sum"]) != "nagle"
    samples = Samples.of(late(runs_of([LOOP], costs), *LOOP.strategies))
    assert best_fixed(samples, 0, LOOP, COSTS["sum"]) == "nagle"
    assert weighed_of([LOOP], samples) == ()


def test_nothing_measured_has_no_rivals() -> None:
    for reading in READINGS:
        assert rivals(reading, "p50", []) == ()


def test_the_best_is_that_of_the_odd_rounds() -> None:
    runs = [
        Measured(0, name, "warm", round, messages=1, cpu_ns=cost if round % 2 else 3 - cost)
        for name, cost in (("nodelay", 1), ("nagle", 2))
        for round in range(1, 9)
    ]
    assert best_fixed(Samples.of(runs), 0, LOOP, COSTS["cpu"]) == "nodelay"


def test_a_fixed_strategy_is_judged_by_the_same_rules_and_the_pick_holds_against_itself() -> None:
    cells = [LOOP, Cell("threads", 10_000.0, "poisson", 1, 100)]
    costs = {**EQUAL, "combine": 100_000.0, "nagle": 50_000.0, OURS: 50_000.0}
    found = {
        (each.strategy, each.reading): each.count
        for each in calibrations_of(cells, Samples.of(runs_of(cells, costs)))
    }
    for reading in ("one", "each"):
        assert found["nagle", reading].held == 2
        assert found[THE_PICK, reading].held == 2
        assert found[OURS, reading].held == 2
        assert found["tick or combine", reading].large == 2
        assert found["nodelay", reading].lost == 2
