"""The grid is what the page says, and the order of its runs is chance that can be repeated."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from claim.grid import GRIDS, OURS, RUNTIMES, SETS, fixed_strategies
from claim.judge import LOOKS, verdicts_of
from claim.plan import (
    HOPELESS,
    cold_turns_of,
    planned_seconds,
    rounds_of_look,
    shuffled,
    strategies_left,
    turns_of,
)
from claim.samples import Samples
from tests.claim.worlds import EQUAL, LOOP, even_noise, runs_of

from tinygram.bench import runtimes
from tinygram.bench.strategies import parse_strategy


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
            assert case.message_bytes.min == cell.message_bytes


def test_the_two_sets_share_neither_sizes_nor_arrivals() -> None:
    tuning, confirm = SETS["tuning"], SETS["confirm"]
    assert {tuning.small_bytes, tuning.large_bytes}.isdisjoint(
        {confirm.small_bytes, confirm.large_bytes}
    )
    # A round's arrivals have the set's seed plus the round.
    assert abs(tuning.seed - confirm.seed) > LOOKS[-1]


def test_the_first_look_fits_into_the_time_that_was_promised() -> None:
    minutes = {
        grid: LOOKS[0] * planned_seconds(make(SETS["tuning"])) / 60 for grid, make in GRIDS.items()
    }
    assert minutes["full"] < 35
    assert minutes["quick"] < 4.5


def test_a_p99_of_a_round_has_a_few_latencies_beyond_it() -> None:
    for cell in GRIDS["full"](SETS["confirm"]):
        if cell.rate_per_s is not None:
            assert cell.scheduled_messages() >= 288
            assert cell.scheduled_messages() // cell.burst >= 8


def test_a_round_has_every_turn_once_and_a_cell_in_one_piece() -> None:
    cells = GRIDS["full"](SETS["tuning"])
    turns = [
        turns_of(at, cell, cell.strategies) + cold_turns_of(at, cell)
        for at, cell in enumerate(cells)
    ]
    order = list(shuffled(turns, "1/1"))
    assert Counter(order) == Counter(turn for of_cell in turns for turn in of_cell)
    changes = sum(a.cell != b.cell for a, b in pairwise(order))
    assert changes == len(cells) - 1
    assert order == list(shuffled(turns, "1/1"))
    assert order != list(shuffled(turns, "1/2"))


def test_the_looks_follow_each_other_without_a_gap() -> None:
    rounds = [round for look in range(len(LOOKS)) for round in rounds_of_look(look)]
    assert rounds == list(range(1, LOOKS[-1] + 1))


def test_an_undecided_cell_is_run_again_without_hopeless_rivals() -> None:
    costs = {**EQUAL, "coalesce:1ms": HOPELESS * 200_000.0}
    samples = Samples.of(runs_of([LOOP], costs, noise=even_noise(0.2)))
    left = strategies_left([LOOP], samples, verdicts_of([LOOP], samples))
    assert left[0][0] == OURS
    assert set(left[0]) < {OURS, *fixed_strategies("loop")}
    assert "coalesce:1ms" not in left[0]
    held = Samples.of(runs_of([LOOP], noise=even_noise(0.001)))
    assert strategies_left([LOOP], held, verdicts_of([LOOP], held)) == {}
