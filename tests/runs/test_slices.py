"""Turns of cases: a table that is the same everywhere, and the CPU time of each slice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from math import inf
from unittest.mock import Mock, patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tinygram_bench.runs.edges import DelayedAcks, Sched, Scheduled, Threads
from tinygram_bench.runs.slices import GAP_NS, Ends, Slices, Used, table, used_in_slices

MS = 1_000_000
START_NS = 10**12


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


def pauses_of(turns: Sequence[Slices]) -> list[tuple[int, int]]:
    """When each pause begins and ends: the end of a gap, and the next slice's begin."""
    over_ns = {
        begin: begin + each.slice_ns + each.gap_ns for each in turns for begin in each.begins_ns
    }
    return [
        (over_ns[earlier], later)
        for earlier, later in pairwise(sorted(over_ns))
        if later > over_ns[earlier]
    ]


@pytest.mark.parametrize(
    ("slice_ms", "cycles", "pause_ms", "count"),
    [
        (20, 100, 1, 8),  # Twice a second in four seconds.
        (20, 5, 1, 2),  # However short the round is.
        (20, 5, 50, 0),  # But not for more than a tenth of it.
        (2_000, 3, 1, 5),  # After each slice of slow messages.
        (20, 100, 0, 0),
    ],
)
def test_pauses_are_all_alike_and_lie_between_slices(
    slice_ms: int, cycles: int, pause_ms: int, count: int
) -> None:
    turns = table([0, 0], cycles * slice_ms * MS, slice_ms * MS, "1", pause_ms * MS)
    assert turns == table([0, 0], cycles * slice_ms * MS, slice_ms * MS, "1", pause_ms * MS)
    pauses = pauses_of(turns)
    assert {end - begin for begin, end in pauses} <= {pause_ms * MS}
    assert abs(len(pauses) - count) <= count // 8
    assert all(len(each.begins_ns) == cycles for each in turns)
    assert turns[0].over_ns == max(
        each.begins_ns[-1] + each.slice_ns + each.gap_ns for each in turns
    )


def test_a_round_of_a_day_has_no_more_pauses_than_looks_are_kept() -> None:
    turns = table([0], 86_400_000 * MS, 2_000 * MS, "1", MS)
    assert 500 <= len(pauses_of(turns)) <= 1_000


def test_in_a_pause_there_is_time_until_clocks_are_read() -> None:
    turns = table([0, 2 * MS], 400 * MS, 20 * MS, "1", 3 * MS)
    host = FakeHost(lambda _pid, _now_ns: 0)
    seen_ns: list[tuple[int, int]] = []
    host.used(*turns, pausing=lambda until_ns: seen_ns.append((host.now_ns, until_ns)))
    pauses = pauses_of(turns)
    assert len(pauses) >= 2
    before_ns = GAP_NS // 2
    assert seen_ns == [
        (START_NS + begin - before_ns, START_NS + end - before_ns) for begin, end in pauses
    ]


def test_what_comes_in_a_pause_is_no_part_of_the_slice_before() -> None:
    turns = table([0, 2 * MS], 400 * MS, 20 * MS, "1", 3 * MS)
    pauses = [(START_NS + begin, START_NS + end) for begin, end in pauses_of(turns)]
    assert len(pauses) >= 2

    def come(_pid: int, now_ns: int) -> int:
        """Every process computes for 1 ms in the middle of each pause, and at no other time."""
        return sum(MS for begin, end in pauses if (begin + end) // 2 <= now_ns)

    def switched(pids: Sequence[int], now_ns: int) -> Threads:
        return {"1": (1 + come(0, now_ns), 0)} if pids else None

    for used in FakeHost(come, switched=switched).used(*turns):
        assert used.resting == len(pauses) * MS
        assert used.in_slices == Scheduled(0, 0)


class FakeHost:
    """A clock that goes on while somebody sleeps, and the CPU clocks that are read by it.

    `late_ns`: how much longer each sleep takes. `cpu_ns`: what process pid has used by a time.
    `switched`: what the scheduler has counted of processes by then; None: it does not count.
    """

    def __init__(
        self,
        cpu_ns: Callable[[int, int], int],
        late_ns: int = 0,
        switched: Callable[[Sequence[int], int], Threads] | None = None,
    ) -> None:
        self.now_ns = START_NS - 50 * MS
        self.read_at_ns: list[int] = []
        self._cpu_ns = cpu_ns
        self._late_ns = late_ns
        self._switched = switched

    def _sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9) + self._late_ns

    def _clock(self, clock: int) -> int:
        self.read_at_ns.append(self.now_ns)
        return self._cpu_ns(~(clock >> 3), self.now_ns)

    def used(
        self,
        *of_cases: Slices,
        others: int | None = None,
        pausing: Callable[[int], None] = lambda _until_ns: None,
    ) -> list[Used]:
        """What is found of cases whose processes are 0, 1, …; other ends have `others`, …"""
        fake = Mock(
            monotonic_ns=lambda: self.now_ns,
            monotonic=lambda: self.now_ns / 1e9,
            sleep=self._sleep,
            clock_gettime_ns=self._clock,
        )
        cases = [
            Ends(slices, [number], [] if others is None else [others + number])
            for number, slices in enumerate(of_cases)
        ]
        with (
            patch("tinygram_bench.runs.slices.time", fake),
            patch("tinygram_bench.processes.cpu_clock.time", fake),
            patch.object(Sched, "read", lambda sched: self._threads(sched.pids)),
        ):
            return used_in_slices(START_NS, cases, inf, pausing=pausing)

    def _threads(self, pids: Sequence[int]) -> Threads:
        self.read_at_ns.append(self.now_ns)
        return None if self._switched is None else self._switched(pids, self.now_ns)


@given(st.lists(st.integers(0, 200 * MS), min_size=1, max_size=6), st.integers(1, 50))
def test_no_clock_is_read_while_a_slice_lasts(waits_ns: list[int], slice_ms: int) -> None:
    turns = table(waits_ns, 5 * slice_ms * MS, slice_ms * MS, "1")
    host = FakeHost(lambda _pid, _now_ns: 0)
    host.used(*turns)
    # One clock, and what the scheduler counted of both ends.
    assert len(host.read_at_ns) == 3 * 2 * 5 * len(turns)
    for each in turns:
        for begin_ns in each.begins_ns:
            begin_ns += START_NS
            end_ns = begin_ns + each.slice_ns
            assert not any(begin_ns <= at_ns <= end_ns for at_ns in host.read_at_ns)


def test_cpu_time_of_a_slice_is_that_of_all_its_messages_and_of_what_comes_until_the_next() -> None:
    turns = table([0, 5 * MS], 100 * MS, 20 * MS, "1")

    def cpu_ns(pid: int, now_ns: int) -> int:
        """A case computes in half of each of its slices; the second one's messages take longer."""
        begins_ns = [START_NS + begin_ns for begin_ns in turns[pid].begins_ns]
        used = sum(10 * MS for begin_ns in begins_ns if begin_ns + 10 * MS <= now_ns)
        return used + sum(pid * MS for begin_ns in begins_ns if begin_ns + 23 * MS <= now_ns)

    assert FakeHost(cpu_ns).used(*turns) == [
        Used((*(10 * MS,) * 4, None), resting=0),
        Used((*(11 * MS,) * 4, None), resting=0),
    ]


def test_cpu_time_of_cases_at_the_same_time_is_that_of_each() -> None:
    (both, alone) = table([0, 5 * MS], 100 * MS, 20 * MS, "1")

    def cpu_ns(pid: int, now_ns: int) -> int:
        """The two of a slice compute for 1 and 2 ms in it, and the case beside them for 3."""
        begins_ns = [START_NS + begin_ns for begin_ns in (both, both, alone)[pid].begins_ns]
        return sum((pid + 1) * MS for begin_ns in begins_ns if begin_ns + 10 * MS <= now_ns)

    assert FakeHost(cpu_ns).used(both, both, alone) == [
        Used((*((number + 1) * MS,) * 4, None), resting=0) for number in range(3)
    ]


def test_cpu_time_while_others_have_their_slices_is_told() -> None:
    turns = table([0, 0], 100 * MS, 20 * MS, "1")
    (first, _) = FakeHost(lambda _pid, now_ns: now_ns // 100).used(*turns)
    rests_ns = [after - before - 21 * MS for before, after in pairwise(turns[0].begins_ns)]
    assert first.resting == sum(rests_ns) // 100
    assert first.other_resting is None


def test_cpu_time_of_the_other_end_between_its_slices_is_told_apart() -> None:
    turns = table([0, 0], 100 * MS, 20 * MS, "1")
    host = FakeHost(lambda pid, now_ns: now_ns // 100 if pid == 10 else 0)
    rests_ns = [after - before - 21 * MS for before, after in pairwise(turns[0].begins_ns)]
    assert host.used(*turns, others=10) == [
        Used((*(0,) * 4, None), resting=0, other_resting=sum(rests_ns) // 100),
        Used((*(0,) * 4, None), resting=0, other_resting=0),
    ]


def test_switches_and_waits_for_a_core_are_those_of_slices_alone() -> None:
    """A thread is switched to ten times in each slice, and once between; one comes in the third."""
    begins_ns = [START_NS + at * 100 * MS for at in range(5)]
    turns = Slices(tuple(begin - START_NS for begin in begins_ns), 20 * MS, 3 * MS)

    def switched(pids: Sequence[int], now_ns: int) -> Threads:
        if not pids:
            return None
        begun, rested = (
            sum(begin_ns + later_ns <= now_ns for begin_ns in begins_ns)
            for later_ns in (10 * MS, 60 * MS)
        )
        found = {"1": (1 + 10 * begun + rested, 500 * begun)}
        return found if begun < 3 else found | {"2": (4, 0)}

    other = replace(turns, begins_ns=tuple(each + 50 * MS for each in turns.begins_ns))
    first, _ = FakeHost(lambda _pid, _now_ns: 0, switched=switched).used(turns, other)
    assert first.in_slices == Scheduled(5 * 10 + 4, 5 * 500)
    assert first.other_in_slices is None


def test_the_scheduler_counts_every_wake_up_of_a_thread() -> None:
    sleeper = "import time\nprint(flush=True)\ninput()\nfor _ in range(50): time.sleep(1e-3)\n"
    child = subprocess.Popen(
        [sys.executable, "-c", sleeper + "print(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child, ExitStack() as stack:
        sched = Sched([child.pid], stack)
        child.stdout.readline()
        sched.begins.append(sched.read())
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        sched.ends.append(sched.read())
        child.communicate(b"\n", timeout=60)
        found = sched.scheduled(1)
        assert sched.read() is None, "it has ended"
    if sched.begins == [None]:
        pytest.skip("this kernel does not count them")
    assert found is not None
    assert found.switches >= 50


def test_delayed_acknowledgements_are_those_sent_while_slices_lasted() -> None:
    def tables(*counts: int) -> bytes:
        told = b"TcpExt: SyncookiesSent DelayedACKs\nTcpExt: 7 %d\nIpExt: InOctets\nIpExt: 5\n"
        return b"".join(told % count for count in counts)

    # The counts of two networks; each rest adds one, and the last slice was not reached.
    acks = DelayedAcks((0, 0))
    acks.begins.extend([tables(10, 1), tables(15, 1), tables(19, 1)])
    acks.ends.extend([tables(14, 1), tables(18, 1)])
    assert acks.counted(2) == 7
    assert acks.counted(3) == round(7 / 2 * 3)
    assert acks.counted(5) is None


def test_both_ends_of_loopback_are_one_network_that_is_counted_once() -> None:
    with ExitStack() as stack:
        own = [os.getpid()]
        acks = DelayedAcks.of([own, own], stack)
        assert len(acks.fds) == 1
        acks.begins.append(acks.read())
        acks.ends.append(acks.begins[0])
        assert acks.counted(1) == 0
        assert DelayedAcks.of([own, []], stack).read() is None


def test_what_is_read_too_late_is_unknown() -> None:
    turns = table([0, 0], 100 * MS, 20 * MS, "1")
    for late_ns, is_known in ((1 * MS, True), (1 * MS + 1, False)):
        found = FakeHost(lambda _pid, now_ns: now_ns, late_ns).used(*turns)
        known = [each is not None for used in found for each in used.by_whole_slice]
        # What a case does at its end is in its last slice, of which nothing is known.
        assert known == [*[is_known] * 4, False] * 2
        assert all((used.resting is not None) == is_known for used in found)


def test_cpu_time_is_that_of_the_slices_own_processes() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    resting = "import time; print(flush=True); time.sleep(60)"
    idle = subprocess.Popen([sys.executable, "-c", resting], stdout=subprocess.PIPE)
    try:
        assert idle.stdout is not None
        idle.stdout.readline()
        time.sleep(0.1)
        starts = (Slices((0, 100 * MS), 40 * MS, 10 * MS), Slices((50 * MS,), 40 * MS, 10 * MS))
        sides = [Ends(starts[0], [busy.pid]), Ends(starts[1], [idle.pid])]
        give_up_s = time.monotonic() + 60
        used = used_in_slices(time.monotonic_ns() + 20 * MS, sides, give_up_s)
    finally:
        for process in (busy, idle):
            process.kill()
            process.wait()
    assert [len(each.by_whole_slice) for each in used] == [2, 1]
    # Another program may take the core, and an edge may be seen late: never more than all of it.
    assert used[0].by_whole_slice[0] is None or used[0].by_whole_slice[0] > 0
    assert used[0].by_whole_slice[1] is None
    assert used[1].by_whole_slice[0] in (None, 0)
    assert used[0].resting is None or used[0].resting > 0


def test_a_process_that_has_ended_has_no_cpu_time() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    slices = Slices((0,), 5 * MS, 1 * MS)
    give_up_s = time.monotonic() + 60
    sides = [Ends(slices, [ended.pid])]
    assert used_in_slices(time.monotonic_ns(), sides, give_up_s) == [Used((None,), None)]


def test_what_is_lost_is_not_waited_for_to_the_end_of_its_slices() -> None:
    slices = Slices((0, 60_000 * MS), 5 * MS, 1 * MS)
    sides = [Ends(slices, [os.getpid()])]
    begun_s = time.monotonic()
    answers = iter([False, False, True])
    (used,) = used_in_slices(
        time.monotonic_ns(), sides, begun_s + 120, is_lost=lambda: next(answers, True)
    )
    assert time.monotonic() - begun_s < 30
    assert used.by_whole_slice[1] is None


def test_when_time_is_up_the_rest_is_unknown() -> None:
    slices = Slices((0, 10 * MS), 5 * MS, 1 * MS)
    sides = [Ends(slices, [os.getpid()])]
    (used,) = used_in_slices(time.monotonic_ns(), sides, give_up_s=0)
    assert used.by_whole_slice[1] is None
