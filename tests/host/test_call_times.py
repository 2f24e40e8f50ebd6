"""The preloaded library takes the CPU time of calls and between them, and changes no call by it.

How long calls take is the host's affair: here is counted, and set in proportion where there is no
doubt.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.host.programs.timed_calls import CONTENDED, SLEEP_S, SLEEPS, WAITS, WRITES
from tests.support.processes import search_path

from tinygram_bench.host.probes.calls import TIMES, taken_between
from tinygram_bench.host.write_counter import Counting, counting


@pytest.fixture(scope="module")
def library() -> Iterator[Counting]:
    with counting() as library:
        yield library


def told(library: Counting, act: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.host.programs.timed_calls", act],
        env=library.environment() | {"PYTHONPATH": search_path()},
        pass_fds=(library.fd,),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_writes_and_what_the_program_does_between_them_are_timed(library: Counting) -> None:
    found = told(library, "write")
    assert found["counts"][:2] == [WRITES, WRITES]
    counters = found["counters"]
    for name in ("write_cpu_ns", "program_cpu_ns", "timing_cpu_ns"):
        assert counters[name] > 0, name
    # No write left anything unsent: a socket that is no TCP socket does not tell.
    assert counters["unsent_writes"] == 0


def test_waits_are_counted_and_timed_apart_from_writes(library: Counting) -> None:
    found = told(library, "wait")
    assert found["counts"][0] == WRITES // 10
    assert found["counters"]["waits"] == WRITES // 10
    assert found["counters"]["wait_cpu_ns"] > 0


def test_a_program_that_computes_spends_its_time_between_writes(library: Counting) -> None:
    counters = told(library, "compute")["counters"]
    assert counters["program_cpu_ns"] > 3 * counters["write_cpu_ns"]


def test_the_split_is_the_one_that_the_program_finds_by_its_own_clock(library: Counting) -> None:
    found = told(library, "split")
    writes_ns, all_ns = found["own_writes_ns"], found["cpu_ns"]
    counters = found["counters"]
    # Where nothing waits, clocks are read after writes, and asked by the program with them.
    timed_ns = counters["write_cpu_ns"] + counters["timing_cpu_ns"]
    assert timed_ns == pytest.approx(writes_ns, rel=0.3)
    assert counters["program_cpu_ns"] == pytest.approx(all_ns - writes_ns, rel=0.06)


def test_a_wait_for_the_interpreters_lock_is_a_wait(library: Counting) -> None:
    found = told(library, "contend")
    assert found["counts"][0] % CONTENDED == 0
    assert found["counters"]["waits"] > WAITS
    assert found["counters"]["wait_cpu_ns"] > 0


def test_a_call_that_is_timed_fails_as_it_would(library: Counting) -> None:
    """Asking the kernel more would leave another errno."""
    assert told(library, "refused")["counts"][2] == WRITES + 1


def test_a_forked_child_is_timed_by_a_clock_of_its_own(library: Counting) -> None:
    """Its CPU clock starts anew: a difference below 0 would be a time of centuries."""
    found = told(library, "fork")
    assert found["counts"][0] == 3 * WRITES
    assert 0 < found["counters"]["program_cpu_ns"] < 600e9


@pytest.mark.parametrize("act", ["write", "wait", "compute", "sleep", "fill"])
def test_the_parts_add_up_to_what_the_threads_own_clock_says(library: Counting, act: str) -> None:
    """Whatever takes it off its core: its waits, a write to a full buffer, other programs."""
    found = told(library, act)
    parts = ("write_cpu_ns", "wait_cpu_ns", "program_cpu_ns", "timing_cpu_ns")
    total_ns = sum(found["counters"][name] for name in parts)
    # What comes before the first call is not measured.
    assert total_ns == pytest.approx(found["cpu_ns"], rel=0.02, abs=2e6)


def test_a_wait_costs_what_it_takes_on_a_core_and_not_how_long_it_lasts(library: Counting) -> None:
    found = told(library, "sleep")
    assert found["counters"]["waits"] == SLEEPS
    assert found["counters"]["wait_cpu_ns"] < SLEEPS * SLEEP_S * 1e9 / 2


def test_what_the_kernel_was_asked_of_stands_for_all_writes() -> None:
    none = dict.fromkeys(
        (
            *("write_calls", "write_ns", "wait_calls", "wait_ns", "between_ns", "timing_ns"),
            *("asked", "unsent"),
        ),
        0,
    )
    later = none | {
        "write_calls": 100,
        "write_ns": 5_000,
        "wait_calls": 20,
        "between_ns": 600,
        "timing_ns": 7,
        "asked": 50,
        "unsent": 25,
    }
    assert taken_between(none, later) == {
        "write_cpu_ns": 5_000,
        "waits": 20,
        "wait_cpu_ns": 0,
        "program_cpu_ns": 600,
        "timing_cpu_ns": 7,
        "unsent_writes": 50,
    }
    assert taken_between(none, none)["unsent_writes"] == 0
    # There were some, and of none the kernel was asked.
    assert taken_between(none, none | {"write_calls": 1})["unsent_writes"] is None
    assert taken_between(None, later) == dict.fromkeys(TIMES)
