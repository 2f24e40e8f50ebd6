"""The grid is what the page says, and the order of its runs is chance that can be repeated."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from claim.grid import GRIDS, OURS, PRODUCERS, RUNTIMES, SETS, fixed_strategies, gathering
from claim.judging.compare import LOOKS
from claim.judging.judge import verdicts_of
from claim.judging.samples import Samples
from claim.plan import (
    FLOOR_ROUNDS,
    HOPELESS,
    first_runs_of_cell,
    rounds_of_look,
    run_seconds,
    runs_of_cell,
    shuffled,
    strategies_left,
)
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, even_noise, late, runs_of

from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.ways import runtimes


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", SETS)
def test_every_cell_is_there_once_and_can_run(grid: str, name: str) -> None:
    cells = GRIDS[grid](SETS[name])
    assert len({cell.name for cell in cells}) == len(cells)
    assert {cell.runtime for cell in cells} == set(RUNTIMES)
    for cell in cells:
        for strategy in cell.strategies:
            case = cell.case(strategy, "same")
            known = runtimes.runtime(cell.runtime, "tinygram", parse_strategy(strategy))
            assert known.missing() is None
            assert (case.runtime, case.implementation) == (cell.runtime, "tinygram")
            assert (case.strategy, case.producers) == (strategy, cell.producers)
            assert case.message_bytes.min == cell.message_bytes
            assert (case.rate_per_s, case.link) == (cell.rate_per_s, cell.link)


def test_all_strategies_of_a_cell_are_paced_and_bursting_alike() -> None:
    for strategy in LOOP.strategies:
        paced, free = LOOP.case(strategy, "same"), FLAT_OUT.case(strategy, "same", 640)
        assert StreamParameters.of(paced).study.pacer_sleeps is True
        assert StreamParameters.of(free).study.flat_out_burst == FLAT_OUT.burst
        assert StreamParameters.of(free).messages == 640
    assert StreamParameters.of(LOOP.case("tick", "same", withholds=True)).study.withholds


def test_threads_have_cells_with_several_producers() -> None:
    several = [cell for cell in GRIDS["full"](SETS["tuning"]) if cell.producers > 1]
    assert {(cell.runtime, cell.producers) for cell in several} == {("threads", PRODUCERS)}
    assert {cell.rate_per_s is None for cell in several} == {True, False}


def test_the_two_sets_share_neither_sizes_nor_arrivals() -> None:
    tuning, confirm = SETS["tuning"], SETS["confirm"]
    assert {tuning.small_bytes, tuning.large_bytes}.isdisjoint(
        {confirm.small_bytes, confirm.large_bytes}
    )
    # A round's arrivals have the set's seed plus the round.
    assert abs(tuning.seed - confirm.seed) > LOOKS[-1]


def test_the_first_look_fits_into_the_time_that_was_promised() -> None:
    minutes = {}
    for grid, make in GRIDS.items():
        cells = make(SETS["tuning"])
        seconds = sum(
            run_seconds(cell) * len(runs)
            for round in rounds_of_look(0)
            for number, cell in enumerate(cells)
            for runs in (
                runs_of_cell(number, cell, cell.strategies),
                first_runs_of_cell(number, cell, round),
            )
        )
        minutes[grid] = seconds / 60
    assert minutes["full"] < 35
    assert minutes["quick"] < 4.6
    assert minutes["links"] < 20


def test_a_p99_of_a_round_has_a_few_latencies_beyond_it() -> None:
    for cell in GRIDS["full"](SETS["confirm"]):
        if cell.rate_per_s is not None:
            assert cell.scheduled_messages() >= 288
            assert cell.scheduled_messages() // cell.burst >= 8


def test_a_round_has_every_run_once_and_a_cell_in_one_piece() -> None:
    cells = GRIDS["full"](SETS["tuning"])
    runs = [
        runs_of_cell(at, cell, cell.strategies) + first_runs_of_cell(at, cell, 1)
        for at, cell in enumerate(cells)
    ]
    order = list(shuffled(runs, "1/1"))
    assert Counter(order) == Counter(run for of_cell in runs for run in of_cell)
    changes = sum(a.cell != b.cell for a, b in pairwise(order))
    assert changes == len(cells) - 1
    assert order == list(shuffled(runs, "1/1"))
    assert order != list(shuffled(runs, "1/2"))


def test_every_runtime_is_run_by_fresh_processes_and_has_its_floors_in_the_first_rounds() -> None:
    cells = GRIDS["full"](SETS["tuning"])
    for round in (1, FLOOR_ROUNDS, FLOOR_ROUNDS + 1):
        runs = [run for at, cell in enumerate(cells) for run in first_runs_of_cell(at, cell, round)]
        cold = {cells[run.cell].runtime for run in runs if run.variant == "cold"}
        assert cold == set(RUNTIMES)
        floors = [run for run in runs if run.variant == "floor"]
        assert bool(floors) == (round <= FLOOR_ROUNDS)
        assert all(run.strategy == gathering(cells[run.cell].runtime) for run in floors)


def test_the_looks_follow_each_other_without_a_gap() -> None:
    rounds = [round for look in range(len(LOOKS)) for round in rounds_of_look(look)]
    assert rounds == list(range(1, LOOKS[-1] + 1))


def test_an_undecided_cell_is_run_again_without_hopeless_rivals() -> None:
    costs = {**EQUAL, "coalesce:1ms": HOPELESS * 200_000.0}
    samples = Samples.of(runs_of([LOOP], costs, noise=even_noise(0.2)))
    left = strategies_left([LOOP], samples, verdicts_of([LOOP], samples, "each"))
    assert left[0][0] == OURS
    assert set(left[0]) < {OURS, *fixed_strategies("loop")}
    assert "coalesce:1ms" not in left[0]
    held = Samples.of(runs_of([LOOP], noise=even_noise(0.001)))
    assert strategies_left([LOOP], held, verdicts_of([LOOP], held, "each")) == {}


def test_what_no_round_can_decide_is_not_run_again() -> None:
    samples = Samples.of(late(runs_of([LOOP], noise=even_noise(0.001)), *LOOP.strategies))
    verdicts = verdicts_of([LOOP], samples, "each")
    assert "undecided" in {verdict.outcome for verdict in verdicts}
    assert strategies_left([LOOP], samples, verdicts) == {}
