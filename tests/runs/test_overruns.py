"""Which runs are told that another case's messages came in their slices."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import EVERY_FIGURE, Run
from tinygram_bench.runs.group import evened
from tinygram_bench.runs.overruns import restless_told, told
from tinygram_bench.runs.slices import Slices, Used

SLICE_NS, GAP_NS, CYCLE_NS = 20_000, 5_000, 75_000
"""Three cases whose slices begin 25 µs after one another."""
MS = 1_000_000


def run(name: str, late_us: Sequence[float | None]) -> Run:
    return Run(name, 0, {"slices": 10}, {}, slices={"late_us": tuple(late_us)})


def turns(first_ns: int) -> Slices:
    begins_ns = tuple(first_ns + each * CYCLE_NS for each in range(10))
    return Slices(begins_ns, SLICE_NS, 0, GAP_NS)


TURNS = [turns(each * (SLICE_NS + GAP_NS)) for each in range(3)]
PUNCTUAL = (0,) * 10


def found(late_us: Sequence[float | None], second: Sequence[float | None] = PUNCTUAL) -> list[Run]:
    return told([run("late", late_us), run("second", second), run("third", PUNCTUAL)], TURNS)


def counted(runs: Sequence[Run], what: str) -> list[int | None]:
    return [each.counters[f"slices_{what}"] for each in runs]


def codes(runs: Sequence[Run]) -> list[list[str]]:
    return [[warning.code for warning in each.warnings] for each in runs]


def test_a_case_that_is_late_in_most_of_its_slices_bars_those_that_it_reaches() -> None:
    runs = found((10,) * 6 + (0,) * 4)
    assert codes(runs) == [["fell_behind"], ["slices_entered"], []]
    (warning,) = runs[1].warnings
    assert warning.message.startswith(
        "in 6 of 10 slices messages still came of a case that falls behind in most of its own, "
        "most often of late"
    )
    assert "throughput_per_s".startswith(warning.figures)
    assert "latency_p50_us".startswith(warning.figures)
    assert "latency_p50_us".startswith(runs[0].warnings[0].figures)
    assert not "throughput_per_s".startswith(runs[0].warnings[0].figures)


def test_at_a_rate_a_backlog_is_in_the_times_of_what_waits_in_it() -> None:
    closed = run("late", (10,) * 6 + (0,) * 4)
    opened = [replace(closed, histograms=at_a_rate(shortest_ns)) for shortest_ns in (4_900, 5_000)]
    for late, code, figures in (
        (closed, "fell_behind", ("latency_", "last_")),
        (opened[0], "fell_behind", ("call_", "round_trip_", "start_delay_")),
        # Each reply takes so long, and none waits for another.
        (opened[1], "slices_overrun", ()),
    ):
        [warning] = told([late, run("second", PUNCTUAL)], TURNS[:2])[0].warnings
        assert (warning.code, warning.figures) == (code, figures)


def at_a_rate(shortest_ns: int) -> dict[str, str]:
    calls = Histogram()
    calls.record(shortest_ns)
    return {"start_delay_ns": Histogram().to_base64(), "call_ns": calls.to_base64()}


def test_what_has_the_same_slices_comes_late_to_nobody_in_them() -> None:
    late = (10,) * 6 + (0,) * 4
    pair = [run("there", late), run("back", late), run("other", PUNCTUAL)]
    runs = told(pair, [TURNS[0], TURNS[0], TURNS[1]])
    assert counted(runs, "entered") == [0, 0, 6]
    assert codes(runs) == [["fell_behind"], ["fell_behind"], ["slices_entered"]]


@pytest.mark.parametrize("stopped", [2, 5])
def test_stops_of_the_host_are_told_and_bar_nothing(stopped: int) -> None:
    runs = found((10,) * stopped + (0,) * (10 - stopped))
    assert codes(runs) == [["slices_overrun"], [], []]
    assert counted(runs, "overrun") == [stopped, 0, 0]
    assert counted(runs, "entered") == [0, stopped, 0]


def test_what_stops_two_cases_now_and_then_makes_neither_an_intruder() -> None:
    runs = found((10,) * 5 + (0,) * 5, second=(0,) * 5 + (10,) * 5)
    assert counted(runs, "entered") == [0, 5, 5]
    assert not any(warning.figures for each in runs for warning in each.warnings)


def test_what_comes_within_the_gap_is_in_nobodys_slice() -> None:
    runs = found((5,) * 10)
    assert codes(runs) == [[], [], []]
    assert counted(runs, "overrun") == [0, 0, 0]
    assert counted(runs, "entered") == [0, 0, 0]


def test_what_lasts_beyond_a_whole_slice_is_in_all_slices_that_it_lasts_in() -> None:
    runs = found((31,) * 6 + (None,) * 4)
    assert counted(runs, "entered") == [0, 6, 6]
    assert codes(runs) == [["fell_behind"], ["slices_entered"], ["slices_entered"]]


def test_a_case_that_is_late_itself_is_entered_all_the_same() -> None:
    runs = found((56, *PUNCTUAL[1:]), second=(6,) * 10)
    assert counted(runs, "entered") == [0, 1, 10]


def test_few_slices_that_an_intruder_enters_bar_nothing() -> None:
    # Late in most of its slices, and so by little more than its gap: in those of one case.
    first = [turns(0), turns(CYCLE_NS - SLICE_NS - 1)]
    often, seldom = told([run("late", (6,) * 10), run("second", PUNCTUAL)], first)
    assert counted([often, seldom], "overrun") == [10, 0]
    assert codes([often, seldom]) == [["fell_behind"], []]


def test_a_failed_run_was_late_for_nobody() -> None:
    dead = Run("dead", 0, {}, {}, failure="it died")
    runs = told([run("once", PUNCTUAL), run("second", PUNCTUAL), dead], TURNS)
    assert runs[2] == dead
    assert codes(runs) == [[], [], []]


def test_after_a_tick_of_the_scheduler_nobody_reaches_the_others_unless_they_all_might() -> None:
    assert evened([0, 45 * MS, 0]) == [4 * MS, 45 * MS, 4 * MS]
    assert evened([0, 2 * MS]) == [2 * MS, 2 * MS]
    assert evened([0, 0]) == [0, 0]


def test_nothing_is_compared_with_who_uses_a_core_in_the_slices_of_others() -> None:
    # Four seconds, of which each of these has two, with a second of rest between.
    first, second = (
        Slices((at_ns, at_ns + 2_000 * MS), 1_000 * MS, 0, 0, 4_000 * MS)
        for at_ns in (0, 1_000 * MS)
    )
    restful, restless = Used((None,), 99 * MS), Used((None,), None, 101 * MS)
    names = ("a", "b", "c")
    runs = [Run(name, 0, {}, {}) for name in names]
    turns = [first, first, second]
    assert restless_told(runs, turns, {0: restful, 2: restful}) == runs
    told_runs = restless_told(runs, turns, {0: restless, 2: restful})
    # b has the same slices as a.
    assert codes(told_runs) == [["restless"], [], ["beside_restless"]]
    (own,), (beside,) = told_runs[0].warnings, told_runs[2].warnings
    assert own.figures == EVERY_FIGURE
    assert beside.figures == ()
    assert beside.message.startswith("a used 10% of a core in the slices of others")
    assert restless_told(runs[:2], turns[:2], {0: restless}) == runs[:2]
    failed = [Run("a", 0, {}, {}, failure="it stalled"), *runs[1:]]
    assert codes(restless_told(failed, turns, {0: restless})) == [[], [], ["beside_restless"]]
