"""Regrets are those that the world has, and the worst of a single strategy is the worst."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell, name_on_all_runtimes
from claim.judging.regret import best_single, regrets_of, worst_in, worst_of
from claim.judging.samples import Samples
from claim.judging.yardstick import WRITE_COST_NS, middle_of, yardsticks_of
from tests.claim.worlds import EQUAL, LOOP, late, runs_of

THREADS = Cell("threads", 10_000.0, "constant", 1, 100)
SLOW = Cell("loop", 1_000.0, "constant", 1, 100)


@pytest.mark.parametrize("figure", ["cpu", "sum"])
def test_a_regret_is_what_a_strategy_costs_more_than_the_best_fixed_one(figure: str) -> None:
    costs = {**EQUAL, "nagle": 50_000.0, OURS: 60_000.0}
    found = {
        each.strategy: each.regret
        for each in regrets_of([LOOP], Samples.of(runs_of([LOOP], costs)))
        if each.figure == figure
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
    worst = worst_of(cells, regrets_of(cells, Samples.of(runs_of(cells, costs))))
    found = {(each.strategy, each.runtime): each for each in worst if each.figure == "p50"}
    name = name_on_all_runtimes("combine")
    assert name == name_on_all_runtimes("tick")
    gathering = found[name, None]
    assert gathering.regret == pytest.approx(2.0, rel=0.1)
    assert gathering.cell == 1
    assert gathering.shown is not None
    assert gathering.shown <= (gathering.regret or 0)
    assert found[name, "threads"].regret == gathering.regret
    assert (found[name, "loop"].regret or 0) < 0.1
    assert best_single(worst_in(worst, ("p50",))) not in (OURS, name, None)
    assert best_single(worst_in(worst, ("p50", "p99", "cpu"))) not in (OURS, name, None)


def test_what_cannot_keep_up_is_left_out_but_for_ours() -> None:
    costs = {**EQUAL, "nagle": 900_000.0, OURS: 300_000.0}
    runs = late(runs_of([LOOP], costs), "nagle", OURS)
    worst = worst_of([LOOP], regrets_of([LOOP], Samples.of(runs)))
    found = {each.strategy: each for each in worst if each.figure == "sum" and each.runtime is None}
    assert found["nagle"].regret is None
    assert found["nagle"].with_overloaded == pytest.approx(8, rel=0.05)
    assert found[OURS].regret == pytest.approx(2, rel=0.05)


def test_the_optimum_of_messages_far_apart_is_a_write_each() -> None:
    (yardstick,) = yardsticks_of([SLOW], Samples.of(runs_of([SLOW])), seed=1)
    assert yardstick.optimum_ns == WRITE_COST_NS
    assert yardstick.optimum_writes == 1
    assert yardstick.held["nodelay"] == 1
    # Half the writes; 500 writes for 250 holds: 750 of 1,000 messages were held for 2 µs.
    assert yardstick.held[OURS] == pytest.approx(
        (0.5 * WRITE_COST_NS + 0.75 * 2_000) / WRITE_COST_NS
    )
    assert "nagle" not in yardstick.held
    # What the kernel holds is in what is received.
    assert yardstick.received["nagle"] == pytest.approx(104_000 / WRITE_COST_NS, rel=0.1)


def test_what_cannot_keep_up_has_no_multiple_of_the_optimum() -> None:
    samples = Samples.of(late(runs_of([SLOW]), "nodelay"))
    (yardstick,) = yardsticks_of([SLOW], samples, seed=1)
    assert "nodelay" not in yardstick.held
    assert "nodelay" not in yardstick.received


def test_the_mean_over_cells_is_geometric() -> None:
    assert middle_of([{"tick": 1.0}, {"combine": 4.0}]) == {"tick or combine": pytest.approx(2)}
