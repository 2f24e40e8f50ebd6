"""Verdicts on strategies whose true costs are known: seldom wrong, undecided where they must be."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell
from claim.judge import (
    LARGEST_MARGIN,
    LOOK_ERRORS,
    LOOKS,
    best_fixed,
    compared,
    floors_of,
    outcome_of,
    undecided_cells,
    verdicts_of,
)
from claim.runs import Measured
from claim.samples import Samples
from claim.signed_rank import NO_BOUND, ratio_of
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, even_noise, heavy_noise, runs_of

from tinygram.bench.result import Figure

CELLS = [LOOP, FLAT_OUT]


def outcomes(runs: list[Measured], cells: list[Cell] = CELLS) -> set[str]:
    return {verdict.outcome for verdict in verdicts_of(cells, Samples.of(runs))}


def test_what_costs_the_same_is_held() -> None:
    assert outcomes(runs_of(CELLS)) == {"held"}


def test_what_is_cheaper_is_held_too() -> None:
    assert outcomes(runs_of(CELLS, {**EQUAL, OURS: 10_000.0})) == {"held"}


def test_a_rival_that_is_cheaper_by_a_quarter_is_found_and_named() -> None:
    verdicts = verdicts_of(CELLS, Samples.of(runs_of(CELLS, {**EQUAL, "tick": 75_000.0})))
    assert len(verdicts) == 4
    for verdict in verdicts:
        assert (verdict.outcome, verdict.best, verdict.is_large) == ("lost", "tick", True)
        assert verdict.ratio.median == pytest.approx(4 / 3, rel=0.02)
        assert verdict.against_all == "lost"


def test_a_loss_within_the_margin_is_held_and_one_beyond_it_small() -> None:
    assert outcomes(runs_of(CELLS, {**EQUAL, "tick": 98_000.0})) == {"held"}
    costs = {**EQUAL, "tick": 92_500.0}
    verdicts = verdicts_of(CELLS, Samples.of(runs_of(CELLS, costs, noise=even_noise(0.003))))
    assert {(verdict.outcome, verdict.is_large) for verdict in verdicts} == {("lost", False)}


def test_noise_leaves_it_undecided() -> None:
    runs = runs_of(CELLS, {**EQUAL, OURS: 125_000.0}, noise=even_noise(0.3))
    assert outcomes(runs) == {"undecided"}
    assert undecided_cells(verdicts_of(CELLS, Samples.of(runs))) == {0, 1}


def test_fewer_rounds_than_the_first_look_decide_nothing() -> None:
    assert outcomes(runs_of(CELLS, rounds=LOOKS[0] - 2)) == {"undecided"}


def test_failed_runs_are_left_out_and_nothing_else() -> None:
    runs = runs_of(CELLS, rounds=LOOKS[1])
    broken = [
        Measured(run.cell, run.strategy, run.variant, run.round, "it broke")
        if run.round in (3, 4) and run.strategy == "tick"
        else run
        for run in runs
    ]
    samples = Samples.of(broken)
    assert len(samples.failures) == 4
    assert len(samples.costs(0, "tick", "p50")) == LOOKS[1] - 2
    assert outcomes(broken) == {"held"}


def test_luck_in_the_odd_rounds_picks_and_does_not_compare() -> None:
    """Rivals that differ by chance alone: the one picked is not found cheaper."""
    lost = sum(
        verdict.outcome == "lost"
        for seed in range(60)
        for verdict in verdicts_of(
            [FLAT_OUT], Samples.of(runs_of([FLAT_OUT], noise=heavy_noise(0.1), seed=seed))
        )
    )
    assert lost <= 60 * 0.05


def test_the_best_is_that_of_the_odd_rounds() -> None:
    runs = [
        Measured(0, name, "warm", round, messages=1, cpu_ns=cost if round % 2 else 3 - cost)
        for name, cost in (("nodelay", 1), ("nagle", 2))
        for round in range(1, 9)
    ]
    assert best_fixed(Samples.of(runs), 0, LOOP, "cpu") == "nodelay"


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.5, 0.9, "held"), (0.9, 1.05, "held"), (0.9, 1.06, "undecided"), (1.06, 1.2, "lost")],
)
def test_an_interval_is_within_the_margin_beyond_it_or_neither(
    low: float, high: float, outcome: str
) -> None:
    assert outcome_of(Figure(1.0, low, high), 0.05) == outcome


def test_what_comes_after_the_last_look_is_not_looked_at() -> None:
    """Else there would be a look after every round, and errors without end."""
    ones = dict.fromkeys(range(1, LOOKS[-1] + 1), 1.0)
    ratios = {round: 1 + round / 100 for round in ones}
    for look, error in zip(LOOKS, LOOK_ERRORS, strict=True):
        even = [ratios[round] for round in range(2, look + 1, 2)]
        for more in range(5):
            so_far = {round: ratios[round] for round in ones if round <= look + more}
            assert compared(so_far, ones) == ratio_of(even, error)


def test_before_the_first_look_there_is_no_interval() -> None:
    ones = dict.fromkeys(range(1, LOOKS[0]), 1.0)
    ratio = compared(ones, ones)
    assert ratio is not None
    assert ratio.high == NO_BOUND


def test_the_margin_follows_the_noise_and_no_further_than_its_limit() -> None:
    calm = floors_of([LOOP], Samples.of(runs_of([LOOP], noise=even_noise(0.002))))
    assert {floor.margin for floor in calm} == {0.05}
    wild = floors_of([LOOP], Samples.of(runs_of([LOOP], noise=even_noise(2.0))))
    assert {floor.margin for floor in wild} == {LARGEST_MARGIN}
    assert all(floor.floor > LARGEST_MARGIN for floor in wild)


def test_who_ends_late_cannot_keep_up_and_a_late_pacer_blurs() -> None:
    late = [
        Measured(
            *(run.cell, run.strategy, run.variant, run.round),
            **{
                **{name: getattr(run, name) for name in run.__struct_fields__[5:]},
                "behind_ns": 50_000_000 if run.strategy == OURS else 0,
                "pacing_p50_ns": 60_000,
            },
        )
        for run in runs_of([LOOP])
    ]
    verdicts = verdicts_of([LOOP], Samples.of(late))
    assert {verdict.overloaded for verdict in verdicts} == {(OURS,)}
    blurred = {verdict.figure: verdict.is_blurred for verdict in verdicts}
    assert blurred == {"p50": True, "p99": False, "cpu": False}
