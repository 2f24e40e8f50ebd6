"""Regrets are those that the world has, and the worst of a single strategy is the worst."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell, single
from claim.regret import best_overall, best_single, regrets_of, worst_of
from claim.samples import Samples
from claim.yardstick import WRITE_COST_NS, middle_of, yardsticks_of
from tests.claim.worlds import EQUAL, LOOP, runs_of

THREADS = Cell("threads", 10_000.0, "constant", 1, 100)


def test_a_regret_is_what_a_strategy_costs_more_than_the_best_fixed_one() -> None:
    costs = {**EQUAL, "nagle": 50_000.0, OURS: 60_000.0}
    found = {
        each.strategy: each.regret
        for each in regrets_of([LOOP], Samples.of(runs_of([LOOP], costs)))
        if each.figure == "cpu"
    }
    assert found["nagle"] == 0
    assert found["nodelay"] == pytest.approx(1.0, rel=0.05)
    assert found[OURS] == pytest.approx(0.2, rel=0.1)


def test_ours_may_gain_over_the_best_fixed_one() -> None:
    regrets = regrets_of([LOOP], Samples.of(runs_of([LOOP], {**EQUAL, OURS: 50_000.0})))
    assert all(each.regret < -0.4 for each in regrets if each.strategy == OURS)


def test_the_worst_is_over_all_cells_and_combine_is_what_threads_have_for_tick() -> None:
    costs = {**EQUAL, "tick": 100_000.0, "combine": 300_000.0}
    cells = [LOOP, THREADS]
    worst = worst_of(regrets_of(cells, Samples.of(runs_of(cells, costs))))
    found = {each.strategy: each for each in worst if each.figure == "p50"}
    assert single("tick") == single("combine")
    gathering = found[single("tick")]
    assert gathering.regret == pytest.approx(2.0, rel=0.1)
    assert gathering.cell == 1
    assert gathering.shown <= gathering.regret
    least = best_single(worst, "p50")
    assert least is not None
    assert least.strategy not in (OURS, single("tick"))
    overall = best_overall(worst)
    assert overall is not None
    assert overall[0] not in (OURS, single("tick"))


def test_the_optimum_of_messages_far_apart_is_a_write_each() -> None:
    slow = Cell("loop", 1_000.0, "constant", 1, 100)
    (yardstick,) = yardsticks_of([slow], Samples.of(runs_of([slow])), seed=1)
    assert yardstick.optimum_ns == WRITE_COST_NS
    assert yardstick.optimum_writes == 1
    assert yardstick.times["nodelay"] == 1
    # Half the writes; 500 writes for 250 holds: 750 of 1,000 messages were held for 2 µs.
    assert yardstick.times[OURS] == pytest.approx(
        (0.5 * WRITE_COST_NS + 0.75 * 2_000) / WRITE_COST_NS
    )
    assert "nagle" not in yardstick.times


def test_the_mean_over_cells_is_geometric() -> None:
    slow = Cell("loop", 1_000.0, "constant", 1, 100)
    found = yardsticks_of([slow, slow], Samples.of(runs_of([slow, slow])), seed=1)
    assert middle_of(found, {})["nodelay"] == pytest.approx(1)
