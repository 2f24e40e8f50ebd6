"""Regrets are those that the world has, and the worst of a single strategy is the worst."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell, name_on_all_runtimes
from claim.judging.chance import chances_of
from claim.judging.regret import (
    best_single,
    regrets_of,
    standings_of,
    worst_everywhere,
    worst_of,
)
from claim.judging.samples import Samples
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, even_noise, late, runs_of

THREADS = Cell("threads", 10_000.0, "constant", 1, 100)


@pytest.mark.parametrize("cell", [LOOP, FLAT_OUT], ids=["paced", "flat out"])
def test_a_regret_is_what_a_strategy_costs_more_than_the_best_fixed_one(cell: Cell) -> None:
    costs = {**EQUAL, "nagle": 50_000.0, OURS: 60_000.0}
    found = {
        each.strategy: each.regret
        for each in regrets_of([cell], Samples.of(runs_of([cell], costs)))
    }
    assert found["nagle"] == 0
    assert found["nodelay"] == pytest.approx(1.0, rel=0.05)
    assert found[OURS] == pytest.approx(0.2, rel=0.1)


def test_ours_may_gain_over_the_best_fixed_one() -> None:
    regrets = regrets_of([LOOP], Samples.of(runs_of([LOOP], {**EQUAL, OURS: 50_000.0})))
    assert [each.regret < -0.4 for each in regrets if each.strategy == OURS] == [True]


def test_the_worst_is_over_all_cells_and_combine_is_what_threads_have_for_tick() -> None:
    costs = {**EQUAL, "tick": 100_000.0, "combine": 300_000.0}
    cells = [LOOP, THREADS]
    regrets = regrets_of(cells, Samples.of(runs_of(cells, costs)))
    worst = worst_of(cells, regrets)
    found = {(each.strategy, each.runtime): each for each in worst}
    name = name_on_all_runtimes("combine")
    assert name == name_on_all_runtimes("tick")
    gathering = found[name, None]
    assert gathering.regret == pytest.approx(2.0, rel=0.1)
    assert gathering.cell == 1
    assert gathering.shown is not None
    assert gathering.shown <= (gathering.regret or 0)
    assert found[name, "threads"].regret == gathering.regret
    assert (found[name, "loop"].regret or 0) < 0.1
    assert best_single(worst_everywhere(worst)) not in (OURS, name, None)
    standing = {each.strategy: each for each in standings_of(regrets)}
    assert (standing[name].cells, standing[name].over_large) == (2, 1)
    assert list(standing)[-1] == OURS


def test_what_cannot_keep_up_is_left_out_but_for_ours() -> None:
    costs = {**EQUAL, "nagle": 900_000.0, OURS: 300_000.0}
    runs = late(runs_of([LOOP], costs), "nagle", OURS)
    worst = worst_of([LOOP], regrets_of([LOOP], Samples.of(runs)))
    found = {each.strategy: each for each in worst if each.runtime is None}
    assert found["nagle"].regret is None
    assert found["nagle"].with_overloaded == pytest.approx(8, rel=0.05)
    assert found[OURS].regret == pytest.approx(2, rel=0.05)


def test_chance_is_ours_beside_itself() -> None:
    cells = [LOOP, Cell("loop", None, None, 1, 100), THREADS]
    runs = runs_of(cells, {**EQUAL, "combine": 1.0, OURS: 900_000.0}, noise=even_noise(0.01))
    found = {each.figure: each for each in chances_of(cells, Samples.of(runs))}
    assert set(found) == {"sum", "p50", "p99", "cpu", "throughput"}
    for each in found.values():
        assert (each.runtime, each.count) == ("loop", 1)
        assert each.within == each.largest < 0.02
        assert each.half < 0.02
