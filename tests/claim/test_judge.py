"""Verdicts on strategies whose true costs are known: seldom wrong, undecided where they must be."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell
from claim.judging.compare import LOOKS
from claim.judging.judge import Count, count_cells, may_be_decided, verdicts_of
from claim.judging.picks import READINGS, Reading
from claim.judging.samples import COSTS, Samples
from claim.runs import Measured
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, changed, even_noise, heavy_noise, runs_of

CELLS = [LOOP, FLAT_OUT]


def outcomes(runs: list[Measured], reading: Reading = "one") -> set[str]:
    return {verdict.outcome for verdict in verdicts_of(CELLS, Samples.of(runs), reading)}


@pytest.mark.parametrize("reading", READINGS)
def test_what_costs_the_same_is_held(reading: Reading) -> None:
    assert outcomes(runs_of(CELLS, noise=even_noise(0.005)), reading) == {"held"}


@pytest.mark.parametrize("reading", READINGS)
def test_what_is_cheaper_is_held_too(reading: Reading) -> None:
    assert outcomes(runs_of(CELLS, {**EQUAL, OURS: 10_000.0}), reading) == {"held"}


@pytest.mark.parametrize("reading", READINGS)
def test_a_rival_that_is_cheaper_by_a_quarter_is_found_and_named(reading: Reading) -> None:
    runs = runs_of(CELLS, {**EQUAL, "tick": 75_000.0})
    verdicts = verdicts_of(CELLS, Samples.of(runs), reading)
    assert len(verdicts) == 4
    for verdict in verdicts:
        assert (verdict.outcome, verdict.rival) == ("lost", "tick")
        assert verdict.is_large
        assert verdict.is_shown_large
        assert verdict.ratio.median == pytest.approx(4 / 3, rel=0.02)


def test_an_ideal_of_two_strategies_is_harder_than_one_of_them() -> None:
    """One is quick, another thrifty, and ours is as good as the best in between."""
    costs = {**EQUAL, "nodelay": 60_000.0}
    cpu = {**EQUAL, "nodelay": 110_000.0, "coalesce:1ms": 50_000.0}
    ours = {**costs, OURS: 60_000.0}
    runs = runs_of([LOOP], {**ours, "coalesce:1ms": 900_000.0}, cpu_ns={**cpu, OURS: 100_000.0})
    samples = Samples.of(runs)
    assert {each.outcome for each in verdicts_of([LOOP], samples, "one")} == {"held"}
    ideal = {each.figure: each for each in verdicts_of([LOOP], samples, "each")}
    assert {name: each.outcome for name, each in ideal.items()} == {
        "p50": "held",
        "p99": "held",
        "cpu": "lost",
    }
    assert ideal["cpu"].rival == "coalesce:1ms"


def test_near_ties_must_all_be_held_against() -> None:
    """Two strategies cost the same in all, one with less delay and one with less CPU time."""
    costs = {**EQUAL, "nodelay": 60_000.0, "tick": 90_000.0}
    cpu = {**EQUAL, "nodelay": 90_000.0, "tick": 60_000.0}
    runs = runs_of(
        [LOOP], {**costs, OURS: 61_000.0}, cpu_ns={**cpu, OURS: 89_000.0}, noise=even_noise(0.02)
    )
    found = {each.figure: each for each in verdicts_of([LOOP], Samples.of(runs), "one")}
    assert set(found["cpu"].rivals) == {"nodelay", "tick"}
    assert (found["p50"].outcome, found["p50"].rival) == ("held", "nodelay")
    assert (found["cpu"].outcome, found["cpu"].rival) == ("lost", "tick")


def test_a_loss_within_the_margin_is_held_and_one_beyond_it_small() -> None:
    assert outcomes(runs_of(CELLS, {**EQUAL, "tick": 98_000.0}), "each") == {"held"}
    costs = {**EQUAL, "tick": 92_500.0}
    runs = runs_of(CELLS, costs, noise=even_noise(0.003))
    verdicts = verdicts_of(CELLS, Samples.of(runs), "each")
    assert {(verdict.outcome, verdict.is_large) for verdict in verdicts} == {("lost", False)}


def test_a_large_loss_is_one_whatever_the_margin_says() -> None:
    """`nodelay` differs so much from itself that the margin is as wide as it may be."""
    runs = [
        changed(run, p50_ns=(run.p50_ns or 0) * 3) if run.variant == "again" else run
        for run in runs_of([LOOP], {**EQUAL, "tick": 87_000.0}, noise=even_noise(0.03))
    ]
    found = {each.figure: each for each in verdicts_of([LOOP], Samples.of(runs), "each")}
    assert found["p50"].margin == pytest.approx(0.10)
    assert found["p50"].outcome != "held"
    assert found["p50"].is_large


def test_noise_leaves_it_undecided() -> None:
    runs = runs_of(CELLS, {**EQUAL, OURS: 110_000.0}, noise=even_noise(0.4))
    verdicts = verdicts_of(CELLS, Samples.of(runs), "each")
    assert {verdict.outcome for verdict in verdicts} == {"undecided"}
    assert {verdict.cell for verdict in verdicts if may_be_decided(verdict)} == {0, 1}


def test_fewer_rounds_than_the_first_look_decide_nothing() -> None:
    assert outcomes(runs_of(CELLS, rounds=LOOKS[0] - 2)) == {"undecided"}


def test_failed_runs_are_left_out_and_nothing_else() -> None:
    runs = runs_of(CELLS, rounds=LOOKS[1], noise=even_noise(0.005))
    broken = [
        Measured(run.cell, run.strategy, run.variant, run.round, "it broke")
        if run.round in (3, 4) and run.strategy == "nagle"
        else run
        for run in runs
    ]
    samples = Samples.of(broken)
    assert len(samples.failures) == 4
    assert len(samples.costs(0, "nagle", COSTS["p50"])) == LOOKS[1] - 2
    assert outcomes(broken) == {"held"}


@pytest.mark.parametrize("reading", ["one", "each"])
def test_luck_in_the_odd_rounds_picks_and_does_not_compare(reading: Reading) -> None:
    """Rivals that differ by chance alone: the one picked is not found cheaper."""
    lost = 0
    for seed in range(60):
        runs = runs_of([FLAT_OUT], noise=heavy_noise(0.1), seed=seed)
        verdicts = verdicts_of([FLAT_OUT], Samples.of(runs), reading)
        lost += sum(verdict.outcome == "lost" for verdict in verdicts)
    assert lost <= 60 * 0.05


def test_what_the_load_itself_takes_hides_a_difference_of_cpu() -> None:
    """80 of 100 µs are the load's: 4 % more of all is 20 % more of what is the strategy's."""
    runs = runs_of([LOOP], {**EQUAL, OURS: 104_000.0}, floor_ns=80_000.0, noise=lambda _: 1.0)
    level = [changed(run, cpu_ns=steady(run)) for run in runs]
    found = {each.figure: each for each in verdicts_of([LOOP], Samples.of(level), "each")}
    assert found["cpu"].outcome == "held"
    assert found["cpu"].above_floor is not None
    assert found["cpu"].above_floor.median == pytest.approx(1.2, rel=0.01)
    assert found["p50"].above_floor is None


def steady(run: Measured) -> int:
    per_message = {"floor": 80_000, "warm": 100_000}.get(run.variant, 100_000)
    return run.messages * (104_000 if run.strategy == OURS else per_message)


def test_a_cell_is_lost_with_one_figure_and_held_with_all() -> None:
    costs = {**EQUAL, "nagle": 70_000.0}
    cells = [LOOP, Cell("loop", 50_000.0, "poisson", 1, 100), FLAT_OUT]
    cpu = {**EQUAL, "nagle": 100_000.0}
    runs = [
        *runs_of(cells[:1], costs, cpu_ns=cpu),
        *(changed(run, cell=1) for run in runs_of(cells[1:2], noise=even_noise(0.005))),
    ]
    verdicts = verdicts_of(cells, Samples.of(runs), "each")
    assert count_cells(cells, verdicts) == Count(
        held=1, lost=1, undecided=1, large=1, shown_large=1
    )
