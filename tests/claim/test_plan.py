"""The grid is what the page says, and the order of its runs is chance that can be repeated."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from claim.grid import GRIDS, OURS, PRODUCERS, RUNTIMES, SETS, is_run_twice
from claim.judging.compare import ALL_STRATEGIES_ROUNDS, LOOKS, PICKING_ROUNDS
from claim.judging.judge import verdicts_of
from claim.judging.samples import Samples
from claim.plan import cell_seconds, undecided_cells
from claim.planned import PlannedRun, all_runs, runs_of_cell, shuffled
from claim.study import by_strategy
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, even_noise, late, runs_of

from tinygram_bench.links.spec import parse_link
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


def test_all_strategies_of_a_cell_are_paced_and_bursting_alike_and_take_turns() -> None:
    for strategy in LOOP.strategies:
        paced, free = LOOP.case(strategy, "same"), FLAT_OUT.case(strategy, "same")
        assert StreamParameters.of(paced).study.pacer_sleeps is True
        assert StreamParameters.of(free).study.pacer_sleeps is False
        assert StreamParameters.of(free).study.flat_out_burst == FLAT_OUT.burst
        assert StreamParameters.of(paced).study.pushes_out is True
        assert StreamParameters.of(free).study.pushes_out is False
        for case, cell in ((paced, LOOP), (free, FLAT_OUT)):
            assert case.parameters.slice_ns == cell.slice_ns
            assert StreamParameters.of(case).duration_ns == cell.cycles * cell.slice_ns
            assert cell.cycles >= 15


def test_side_by_side_every_strategy_has_processes_of_its_own() -> None:
    cells = [LOOP, FLAT_OUT]
    keys = [by_strategy(run.case(cells, "same")) for run in runs_of_cell(0, LOOP, LOOP.strategies)]
    assert len(set(keys)) == len(keys) == len(LOOP.strategies) + 1
    # And cells share them, one after the other.
    assert by_strategy(PlannedRun(1, OURS).case(cells, "same")) in keys


def test_threads_have_cells_with_several_producers() -> None:
    several = [cell for cell in GRIDS["full"](SETS["tuning"]) if cell.producers > 1]
    assert {(cell.runtime, cell.producers) for cell in several} == {("threads", PRODUCERS)}
    assert {cell.rate_per_s is None for cell in several} == {True, False}


def test_longer_slices_are_the_same_cells_in_fewer_turns() -> None:
    for cell, grid_ns in ((LOOP, 5_000_000), (FLAT_OUT, 10_000_000)):
        assert cell.slices(None) == (grid_ns, cell.cycles)
        # What is no longer than the grid's changes nothing.
        assert cell.slices(3) == cell.slices(grid_ns // 1_000_000) == cell.slices(None)
        assert cell.slices(20) == (20_000_000, 7)
        assert cell.slices(200) == (200_000_000, 3)
        run = PlannedRun(0, OURS)
        case = run.case([cell], "same", 200)
        assert case.parameters.slice_ns == 200_000_000
        assert StreamParameters.of(case).duration_ns == 600_000_000
        assert PlannedRun.of(case, [cell]) == run


def test_the_sets_share_no_arrivals_and_to_tune_and_to_confirm_no_sizes() -> None:
    tuning, confirm = SETS["tuning"], SETS["confirm"]
    assert {tuning.small_bytes, tuning.large_bytes}.isdisjoint(
        {confirm.small_bytes, confirm.large_bytes}
    )
    # A round's arrivals have the set's seed plus the round.
    for one, other in pairwise(sorted(each.seed for each in SETS.values())):
        assert other - one > LOOKS[-1]


def test_the_set_for_longer_slices_has_the_cells_of_the_one_to_confirm_with() -> None:
    for make in GRIDS.values():
        assert make(SETS["slices"]) == make(SETS["confirm"])


def test_the_first_look_fits_into_the_time_that_was_promised() -> None:
    """With all strategies at first, then half of them, then three."""
    minutes = {}
    for grid, make in GRIDS.items():
        rounds = (ALL_STRATEGIES_ROUNDS, 7), (PICKING_ROUNDS - ALL_STRATEGIES_ROUNDS, 4)
        comparing = (LOOKS[0] - PICKING_ROUNDS, 3)
        minutes[grid] = (
            sum(
                count * cell_seconds(cell, strategies)
                for cell in make(SETS["tuning"])
                for count, strategies in (*rounds, comparing)
            )
            / 60
        )
    assert minutes["full"] < 42
    assert minutes["quick"] < 6.6
    assert minutes["links"] < 23


def test_a_slice_has_some_messages_bursts_and_round_trips() -> None:
    for grid in GRIDS.values():
        for cell in grid(SETS["confirm"]):
            assert cell.slice_ns >= 20 * parse_link(cell.link).rtt_ns
            if cell.rate_per_s is not None:
                messages = cell.rate_per_s * cell.slice_ns / 1e9
                assert messages >= 20 - 1e-6
                assert messages / cell.burst >= 4 - 1e-6


def test_a_case_is_known_again_by_its_name() -> None:
    cells = GRIDS["full"](SETS["tuning"])
    for run in all_runs(cells):
        assert PlannedRun.of(run.case(cells, "same"), cells) == run


def test_ours_runs_twice_on_every_runtime_paced_and_flat_out() -> None:
    cells = [cell for cell in GRIDS["full"](SETS["tuning"]) if is_run_twice(cell)]
    kinds = {(cell.runtime, cell.rate_per_s is None) for cell in cells}
    assert kinds == {(runtime, free) for runtime in RUNTIMES for free in (True, False)}
    for cell in cells:
        runs = runs_of_cell(0, cell, [OURS])
        assert runs == [PlannedRun(0, OURS), PlannedRun(0, OURS, "again")]


def test_a_round_has_every_run_once_and_a_cell_in_one_piece() -> None:
    cells = GRIDS["full"](SETS["tuning"])
    runs = [runs_of_cell(at, cell, cell.strategies) for at, cell in enumerate(cells)]
    order = list(shuffled(runs, "1/1"))
    assert Counter(order) == Counter(all_runs(cells))
    changes = sum(a.cell != b.cell for a, b in pairwise(order))
    assert changes == len(cells) - 1
    assert order == list(shuffled(runs, "1/1"))
    assert order != list(shuffled(runs, "1/2"))


def test_what_is_nearest_to_a_verdict_is_run_again_first() -> None:
    cells = [LOOP, FLAT_OUT]
    wide = runs_of([LOOP], noise=even_noise(0.4))
    narrow = runs_of([FLAT_OUT], {**EQUAL, OURS: 104_000.0}, noise=even_noise(0.05), first=1)
    samples = Samples.of([*wide, *narrow])
    assert undecided_cells(verdicts_of(cells, samples)) == [1, 0]


def test_what_is_undecided_is_run_again_and_what_no_round_can_decide_is_not() -> None:
    noisy = Samples.of(runs_of([LOOP], noise=even_noise(0.4)))
    assert undecided_cells(verdicts_of([LOOP], noisy)) == [0]
    held = Samples.of(runs_of([LOOP], noise=even_noise(0.001)))
    assert undecided_cells(verdicts_of([LOOP], held)) == []
    slow = Samples.of(late(runs_of([LOOP], noise=even_noise(0.001)), OURS))
    verdicts = verdicts_of([LOOP], slow)
    assert {each.outcome for each in verdicts if each.is_deciding} == {"undecided"}
    assert undecided_cells(verdicts) == []
