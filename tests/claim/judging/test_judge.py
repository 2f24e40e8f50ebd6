"""Verdicts on strategies whose true costs are known: seldom wrong, undecided where they must be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from claim.grid import OURS, Cell
from claim.judging.compare import LOOKS, PICKING_ROUNDS, compared, outcome_of
from claim.judging.judge import Count, count_cells, verdicts_of
from claim.judging.samples import Samples
from claim.runs import Measured
from tests.claim.worlds import (
    EQUAL,
    FLAT_OUT,
    LOOP,
    changed,
    even_noise,
    heavy_noise,
    runs_of,
    scaled,
)

CELLS = [LOOP, FLAT_OUT]


def outcomes(runs: list[Measured]) -> set[str]:
    return {each.outcome for each in verdicts_of(CELLS, Samples.of(runs))}


def test_what_costs_the_same_is_held() -> None:
    assert outcomes(runs_of(CELLS, noise=even_noise(0.005))) == {"held"}


def test_what_is_cheaper_is_held_too() -> None:
    assert outcomes(runs_of(CELLS, {**EQUAL, OURS: 10_000.0})) == {"held"}


def test_a_rival_that_is_cheaper_by_a_quarter_is_found_and_named() -> None:
    verdicts = verdicts_of(CELLS, Samples.of(runs_of(CELLS, {**EQUAL, "tick": 75_000.0})))
    assert {(each.cell, each.figure) for each in verdicts if each.is_deciding} == {
        (0, "sum"),
        (1, "throughput"),
    }
    assert len(verdicts) == 5
    for verdict in verdicts:
        assert (verdict.outcome, verdict.rival) == ("lost", "tick")
        assert verdict.is_large
        assert verdict.is_shown_large
        assert verdict.ratio.median == pytest.approx(4 / 3, rel=0.02)


def test_drift_between_slices_and_rounds_is_in_no_ratio() -> None:
    """What moves both strategies of a cycle: all of a cycle's costs grow by the same factor."""
    runs = [
        changed(
            run,
            costs={
                figure: tuple(
                    None if each is None else each * (1 + cycle) * run.round
                    for cycle, each in enumerate(slices)
                )
                for figure, slices in run.costs.items()
            },
        )
        for run in runs_of(CELLS, noise=even_noise(0.005))
    ]
    assert outcomes(runs) == {"held"}


def test_a_strategy_that_is_as_good_in_all_may_have_less_of_one() -> None:
    """Delay and CPU time are one price: more of one for less of the other is no loss."""
    cpu = {**dict.fromkeys(EQUAL, 50_000.0), OURS: 20_000.0}
    runs = runs_of([LOOP], cpu_ns=cpu, noise=even_noise(0.003))
    found = {each.figure: each for each in verdicts_of([LOOP], Samples.of(runs))}
    assert {name: each.outcome for name, each in found.items()} == {
        "sum": "held",
        "p50": "lost",
        "p99": "lost",
        "cpu": "held",
    }
    assert [name for name, each in found.items() if each.is_deciding] == ["sum"]


def test_near_ties_must_all_be_held_against() -> None:
    """`nodelay` and `tick` are alike while they are picked, and then one of them is cheaper."""
    costs = {**dict.fromkeys(EQUAL, 150_000.0), "nodelay": 99_000.0, "tick": 99_500.0}
    runs = [
        scaled(run, "sum", 0.8)
        if run.run.strategy == "tick" and run.round > PICKING_ROUNDS
        else run
        for run in runs_of([LOOP], {**costs, OURS: 99_000.0}, noise=even_noise(0.02))
    ]
    found = {each.figure: each for each in verdicts_of([LOOP], Samples.of(runs))}["sum"]
    assert set(found.rivals) == {"nodelay", "tick"}
    assert found.outcome != "held"


def test_a_near_rival_whose_runs_all_fail_when_they_would_compare_is_not_held() -> None:
    """It was as good as the best one while they were picked; nobody knows what it costs since."""
    broken = [
        Measured(run.run, run.round, "it broke")
        if run.run.strategy == "tick" and run.round > PICKING_ROUNDS
        else run
        for run in runs_of(CELLS, noise=even_noise(0.005))
    ]
    for verdict in verdicts_of(CELLS, Samples.of(broken)):
        assert "tick" in verdict.rivals
        assert verdict.outcome == "undecided"


def test_a_loss_within_the_margin_is_held_and_one_beyond_it_small() -> None:
    assert outcomes(runs_of(CELLS, {**EQUAL, "tick": 98_000.0})) == {"held"}
    runs = runs_of(CELLS, {**EQUAL, "tick": 92_500.0}, noise=even_noise(0.003))
    deciding = [each for each in verdicts_of(CELLS, Samples.of(runs)) if each.is_deciding]
    assert {(each.outcome, each.is_large) for each in deciding} == {("lost", False)}


def test_noise_leaves_it_undecided() -> None:
    runs = runs_of(CELLS, {**EQUAL, OURS: 105_000.0}, noise=even_noise(0.4))
    deciding = [each for each in verdicts_of(CELLS, Samples.of(runs)) if each.is_deciding]
    assert {each.outcome for each in deciding} == {"undecided"}
    assert {each.cell for each in deciding if each.may_be_decided} == {0, 1}


def test_after_the_last_look_nothing_more_can_be_decided() -> None:
    runs = runs_of(CELLS, {**EQUAL, OURS: 105_000.0}, noise=even_noise(0.4), rounds=LOOKS[-1])
    verdicts = verdicts_of(CELLS, Samples.of(runs))
    assert not any(each.may_be_decided for each in verdicts)


def test_fewer_rounds_than_the_first_look_decide_nothing() -> None:
    assert outcomes(runs_of(CELLS, rounds=LOOKS[0] - 2)) == {"undecided"}


def test_failed_runs_are_left_out_and_nothing_else() -> None:
    broken = [
        Measured(run.run, run.round, "it broke")
        if run.round in (3, 4) and run.run.strategy == "nagle"
        else run
        for run in runs_of(CELLS, rounds=LOOKS[1], noise=even_noise(0.005))
    ]
    samples = Samples.of(broken)
    assert len(samples.failures) == 4
    assert len(samples.ratios(0, OURS, "nagle", "sum")) == LOOKS[1] - 2
    assert outcomes(broken) == {"held"}


def test_luck_in_the_rounds_that_pick_does_not_compare() -> None:
    """Rivals that differ by chance alone: the one picked is not found cheaper."""
    lost = 0
    for seed in range(60):
        runs = runs_of([FLAT_OUT], noise=heavy_noise(0.1), seed=seed)
        lost += sum(each.outcome == "lost" for each in verdicts_of([FLAT_OUT], Samples.of(runs)))
    assert lost <= 60 * 0.05


def test_what_is_held_is_held_by_all_rounds_and_not_by_those_that_compare_alone() -> None:
    held = left_open = 0
    for seed in range(40):
        samples = Samples.of(runs_of([FLAT_OUT], noise=even_noise(0.05), seed=seed))
        (verdict,) = verdicts_of([FLAT_OUT], samples)
        if verdict.outcome == "held":
            held += 1
            later = compared(samples.ratios(0, OURS, verdict.rival, "throughput"))
            left_open += later is not None and outcome_of(later) == "undecided"
            assert verdict.rounds == LOOKS[0]
    assert held > 10
    assert left_open > held / 5


def test_what_costs_more_than_the_margin_is_seldom_held() -> None:
    """By 6 % where all others are equal: the one that was picked may have been lucky."""
    cells = [FLAT_OUT] * 200

    def held(costs_ns: Mapping[str, float]) -> int:
        runs = runs_of(cells, costs_ns, noise=even_noise(0.05))
        found = [each.outcome for each in verdicts_of(cells, Samples.of(runs))]
        return found.count("held")

    assert held(EQUAL) > len(cells) / 3
    assert held({**EQUAL, OURS: 106_000.0}) <= 0.05 * len(cells)


def test_cells_are_counted_by_what_decides_them_and_unmeasured_ones_are_undecided() -> None:
    cells = [LOOP, Cell("loop", 50_000.0, "poisson", 1, 100), FLAT_OUT]
    runs = [
        *runs_of(cells[:1], {**EQUAL, "nagle": 70_000.0}),
        *runs_of(cells[1:2], noise=even_noise(0.005), first=1),
    ]
    assert count_cells(cells, verdicts_of(cells, Samples.of(runs))) == Count(
        held=1, lost=1, undecided=1, large=1, shown_large=1
    )
