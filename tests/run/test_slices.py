"""Turns of cases: a table that is the same everywhere, and the CPU time of each slice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tinygram_bench.run.slices import GAP_NS, Slices, Used, table, used_in_slices

MS = 1_000_000


@given(
    st.lists(st.integers(0, 200 * MS), min_size=1, max_size=12),
    st.integers(1, 60),
    st.integers(1 * MS, 50 * MS),
    st.text(max_size=5),
)
def test_every_case_has_its_turn_in_every_cycle_and_none_overlap(
    waits_ns: list[int], cycles: int, slice_ns: int, seed: str
) -> None:
    cases = len(waits_ns)
    turns = table(waits_ns, cycles * slice_ns, slice_ns, seed)
    assert turns == table(waits_ns, cycles * slice_ns, slice_ns, seed)
    assert {len(each.begins_ns) for each in turns} == {cycles}
    begins_ns = sorted(begin for each in turns for begin in each.begins_ns)
    of_case = {begin: case for case, each in enumerate(turns) for begin in each.begins_ns}
    for earlier, later in pairwise(begins_ns):
        assert later - earlier == slice_ns + GAP_NS + waits_ns[of_case[earlier]]
    for cycle in range(cycles):
        in_cycle = set(begins_ns[cycle * cases : (cycle + 1) * cases])
        assert {each.begins_ns[cycle] for each in turns} == in_cycle


def test_the_order_changes_from_cycle_to_cycle_and_with_the_seed() -> None:
    first, second = (table([0, 5, 0], 1_000 * MS, 20 * MS, seed) for seed in ("1/0", "1/1"))
    assert first != second
    orders = {
        tuple(sorted(range(3), key=lambda case: first[case].begins_ns[cycle]))
        for cycle in range(50)
    }
    assert len(orders) == 6


def test_a_case_that_is_shorter_than_a_slice_has_one() -> None:
    (turns,) = table([0], 5 * MS, 20 * MS, "1")
    assert turns.begins_ns == (0,)


def test_cpu_time_is_that_of_the_slices_own_processes() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    resting = "import time; print(flush=True); time.sleep(60)"
    idle = subprocess.Popen([sys.executable, "-c", resting], stdout=subprocess.PIPE)
    try:
        assert idle.stdout is not None
        idle.stdout.readline()
        time.sleep(0.1)
        starts = (Slices((0, 100 * MS), 40 * MS, 10 * MS), Slices((50 * MS,), 40 * MS, 10 * MS))
        sides = [(starts[0], [busy.pid]), (starts[1], [idle.pid])]
        give_up_s = time.monotonic() + 60
        used = used_in_slices(time.monotonic_ns() + 20 * MS, sides, give_up_s)
    finally:
        for process in (busy, idle):
            process.kill()
            process.wait()
    assert [len(each.by_slice) for each in used] == [2, 1]
    # Another program may take the core, and an edge may be seen late: never more than all of it.
    assert all(each is None or each > 0 for each in used[0].by_slice)
    assert used[1].by_slice[0] in (None, 0)
    assert used[0].resting is None or used[0].resting > 0


def test_a_process_that_has_ended_has_no_cpu_time() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    slices = Slices((0,), 5 * MS, 1 * MS)
    give_up_s = time.monotonic() + 60
    sides = [(slices, [ended.pid])]
    assert used_in_slices(time.monotonic_ns(), sides, give_up_s) == [Used((None,), None)]


def test_when_time_is_up_the_rest_is_unknown() -> None:
    slices = Slices((0, 10 * MS), 5 * MS, 1 * MS)
    sides = [(slices, [os.getpid()])]
    (used,) = used_in_slices(time.monotonic_ns(), sides, give_up_s=0)
    assert used.by_slice[1] is None
