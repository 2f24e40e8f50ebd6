"""Which strategies ours stands beside in a cell, and which run in each round."""

from __future__ import annotations

from claim.grid import OURS
from claim.judging.compare import ALL_STRATEGIES_ROUNDS, PICKING_ROUNDS
from claim.judging.picks import best_fixed, near_best, picking_figure
from claim.judging.samples import Samples
from claim.plan import HOPELESS, strategies_of
from claim.runs import Measured
from tests.claim.worlds import (
    CYCLES,
    EQUAL,
    FLAT_OUT,
    LOOP,
    changed,
    even_noise,
    late,
    runs_of,
    scaled,
)

FIXED = set(LOOP.strategies) - {OURS}


def test_the_best_is_the_one_with_the_least_delay_and_cpu_time_together() -> None:
    costs = {**EQUAL, "nodelay": 90_000.0}
    cpu = {**dict.fromkeys(EQUAL, 50_000.0), "nodelay": 80_000.0, "coalesce:1ms": 5_000.0}
    samples = Samples.of(runs_of([LOOP], costs, cpu_ns=cpu))
    assert picking_figure(samples, 0, LOOP) == "sum"
    assert best_fixed(samples, 0, LOOP) == "nodelay"
    assert near_best(samples, 0, LOOP) == ("nodelay",)


def test_flat_out_it_is_the_one_with_the_least_time_per_message() -> None:
    samples = Samples.of(runs_of([FLAT_OUT], {**EQUAL, "tick": 40_000.0}))
    assert picking_figure(samples, 0, FLAT_OUT) == "throughput"
    assert best_fixed(samples, 0, FLAT_OUT) == "tick"


def test_near_ties_are_all_rivals_and_what_is_clearly_worse_is_none() -> None:
    costs = {**EQUAL, "nagle": 99_900.0, "coalesce:1ms": 150_000.0}
    samples = Samples.of(runs_of([LOOP], costs, noise=even_noise(0.02)))
    near = near_best(samples, 0, LOOP)
    assert near[0] == best_fixed(samples, 0, LOOP)
    assert "nagle" in near
    assert len(near) > 2
    assert "coalesce:1ms" not in near


def test_what_cannot_keep_up_is_picked_only_where_nothing_can() -> None:
    runs = runs_of([LOOP], {**EQUAL, "nagle": 50_000.0})
    samples = Samples.of(late(runs, "nagle"))
    assert best_fixed(samples, 0, LOOP) != "nagle"
    assert "nagle" not in near_best(samples, 0, LOOP)
    samples = Samples.of(late(runs, *LOOP.strategies))
    assert picking_figure(samples, 0, LOOP) == "cpu"
    assert best_fixed(samples, 0, LOOP) == "nagle"


def test_what_counts_show_to_cost_more_is_no_rival_whatever_the_clock_says() -> None:
    noisy = runs_of([LOOP], {**EQUAL, "nagle": 900_000.0}, noise=even_noise(0.4))
    best, *by_clock = near_best(Samples.of(noisy), 0, LOOP)
    assert best != "nagle"
    dear = by_clock[-1]

    def told(run: Measured) -> Measured:
        is_held = run.run.strategy == dear
        return changed(
            run,
            costs={**run.costs, "cpu": (20_000.0,) * CYCLES},
            writes=1_000,
            write_cpu_ns=10_000_000,
            holds=1_000 if is_held else 0,
            hold_mean_ns=1_000_000.0 if is_held else None,
        )

    assert near_best(Samples.of(list(map(told, noisy))), 0, LOOP) == (best, *by_clock[:-1])


def test_nothing_measured_has_no_rivals() -> None:
    assert near_best(Samples.of([]), 0, LOOP) == ()
    assert best_fixed(Samples.of([]), 0, LOOP) is None


def test_the_best_is_that_of_the_rounds_that_pick() -> None:
    runs = [
        scaled(
            run, "sum", 0.5 if (run.run.strategy == "tick") == (run.round <= PICKING_ROUNDS) else 1
        )
        for run in runs_of([LOOP])
    ]
    assert best_fixed(Samples.of(runs), 0, LOOP) == "tick"


def test_every_strategy_runs_at_first_then_what_is_not_hopeless_and_then_the_near_ones() -> None:
    costs = {
        **EQUAL,
        "tick": 50_000.0,
        "nodelay": 70_000.0,
        "nagle": 50_000.0 * HOPELESS * 1.1,
        OURS: 900_000.0,
    }
    runs = runs_of([LOOP], costs)

    def of_round(round: int) -> set[str]:
        before = [run for run in runs if run.round < round]
        found = strategies_of(0, LOOP, round, Samples.of(before))
        assert len(found) == len(set(found))
        return set(found)

    for round in range(1, ALL_STRATEGIES_ROUNDS + 1):
        assert of_round(round) == set(LOOP.strategies)
    for round in range(ALL_STRATEGIES_ROUNDS + 1, PICKING_ROUNDS + 1):
        assert of_round(round) == {"tick", "nodelay", OURS}
    assert of_round(PICKING_ROUNDS + 1) == {"tick", OURS}
    # What was not run any more is no rival, though its few rounds have no interval.
    left = [
        run
        for run in runs
        if run.run.strategy in ("tick", OURS) or run.round <= ALL_STRATEGIES_ROUNDS
    ]
    assert near_best(Samples.of(left), 0, LOOP) == ("tick",)


def test_a_cell_in_which_nothing_was_measured_runs_ours_alone() -> None:
    assert strategies_of(0, LOOP, PICKING_ROUNDS + 1, Samples.of([])) == [OURS]
    assert set(FIXED) < set(strategies_of(0, LOOP, 1, Samples.of([])))


def test_the_rounds_that_compare_pick_nothing() -> None:
    """Counts leave out what costs more, beside costs of the rounds that pick alone."""

    def told(run: Measured, factor: float) -> Measured:
        cpu_ns = 40_000.0 if run.run.strategy == "coalesce:1ms" else 20_000.0
        costs = dict(run.costs)
        costs["cpu"] = (factor * cpu_ns,) * CYCLES
        costs["sum"] = (factor * 100_000.0,) * CYCLES
        counts = {"writes": 1_000, "write_cpu_ns": 5_000_000, "holds": 0}
        return changed(run, costs=costs, hold_mean_ns=None, **counts)

    picking = [told(run, 1.0) for run in runs_of([LOOP], rounds=PICKING_ROUNDS)]
    later = [told(run, 10.0) for run in runs_of([LOOP]) if run.round > PICKING_ROUNDS]
    near = near_best(Samples.of(picking), 0, LOOP)
    assert "coalesce:1ms" not in near
    assert near_best(Samples.of([*picking, *later]), 0, LOOP) == near
