"""Which runs are told that another case's messages came in their slices."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.model.result import Run
from tinygram_bench.run.reaching import told
from tinygram_bench.run.slices import Slices

SLICE_NS, CYCLE_NS = 20_000, 60_000
"""In µs: three cases whose slices begin 20 µs after one another."""


def run(name: str, late_us: Sequence[float | None]) -> Run:
    return Run(name, 0, {"slices": 10}, {}, slices={"late_us": tuple(late_us)})


def turns(first_ns: int) -> Slices:
    return Slices(tuple(first_ns + each * CYCLE_NS for each in range(10)), SLICE_NS, 0, 0)


TURNS = [turns(0), turns(SLICE_NS), turns(2 * SLICE_NS)]


def test_the_cases_after_one_that_is_late_are_told_whose_messages_came() -> None:
    late = run("late", (5, 5, *(0,) * 8))
    others = [run("second", (0,) * 10), run("third", (0,) * 10)]
    first, second, third = told([late, *others], TURNS)
    assert (first.warnings, third.warnings) == ((), ())
    (warning,) = second.warnings
    assert warning.code == "slices_entered"
    assert "in 2 of 10 slices messages of another case still came, most often of late" in (
        warning.message
    )
    assert "throughput_per_s".startswith(warning.figures)
    assert "latency_p50_us".startswith(warning.figures)


def test_what_lasts_beyond_a_whole_slice_is_in_all_slices_that_it_lasts_in() -> None:
    late = run("late", (25, 25, *(None,) * 8))
    runs = told([late, run("second", (0,) * 10), run("third", (0,) * 10)], TURNS)
    assert [len(each.warnings) for each in runs] == [0, 1, 1]


def test_one_slice_in_ten_is_not_too_many_and_a_failed_run_was_late_for_nobody() -> None:
    runs = [
        run("once", (5, *(0,) * 9)),
        run("second", (0,) * 10),
        Run("dead", 0, {}, {}, failure="it died"),
    ]
    assert told(runs, TURNS) == runs
