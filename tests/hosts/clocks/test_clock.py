"""The line through the looks at a far clock, and its bound."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tinygram_bench import _native
from tinygram_bench.hosts import clock
from tinygram_bench.hosts.clock import Clock, notes_here, notes_there
from tinygram_bench.hosts.clock_server import TIME
from tinygram_bench.hosts.difference import Difference, Followed
from tinygram_bench.hosts.looks import Look, difference, followed
from tinygram_bench.hosts.wire import TOKEN_BYTES
from tinygram_bench.processes.workers import RunError

NOW_NS = 1_000_000_000_000
SECOND_NS = 1_000_000_000
TRIP_NS = 40_000
JUMP_NS = 5 * SECOND_NS


def looks(offset_ns: int, drift: float, strays_ns: list[int]) -> list[Look]:
    return [
        Look(NOW_NS + i * SECOND_NS, offset_ns + round(drift * i * SECOND_NS) + stray, TRIP_NS)
        for i, stray in enumerate(strays_ns)
    ]


@pytest.mark.parametrize("offset_ns", [0, -7 * SECOND_NS, 5_000 * SECOND_NS])
@pytest.mark.parametrize("drift", [0.0, 50e-6, -200e-6])
def test_an_offset_and_a_drift_are_taken_out(offset_ns: int, drift: float) -> None:
    found = followed(looks(offset_ns, drift, [0, 0, 0, 0]), NOW_NS)
    near_ns = NOW_NS + SECOND_NS // 2
    far_ns = near_ns + offset_ns + round(drift * SECOND_NS / 2)
    assert abs(found.near_ns(far_ns) - near_ns) <= found.bound_ns
    assert abs(found.near_ns(far_ns) - near_ns) <= 2
    assert abs(found.far_ns(near_ns) - far_ns) <= 2
    notes = struct.pack("<4Q", 10, far_ns, 20, far_ns + 1_000)
    bytes_so_far, here_ns, more_bytes, _ = struct.unpack("<4Q", notes_here(notes, found))
    assert (bytes_so_far, more_bytes) == (10, 20)
    assert abs(here_ns - near_ns) <= 2
    bytes_so_far, there_ns, *_ = struct.unpack("<4Q", notes_there(notes_here(notes, found), found))
    assert bytes_so_far == 10
    assert abs(there_ns - far_ns) <= 2


LEVEL, BEHIND = (
    Followed([Difference(since_ns=NOW_NS, offset_ns=offset_ns, rate=0.0, bound_ns=1)])
    for offset_ns in (7 * SECOND_NS, -7 * SECOND_NS)
)


@pytest.mark.parametrize("count", [1, 8, 15, 17, 24])
def test_notes_that_end_within_one_are_the_far_hosts_fault(count: int) -> None:
    with pytest.raises(RunError, match=f"receiver: the last one is cut off .{count} bytes"):
        notes_here(bytes(count), LEVEL)


def test_a_note_before_our_clock_began_or_after_it_can_end_is_the_far_hosts_fault() -> None:
    for at_ns, found in ((5, LEVEL), ((1 << 64) - 5, BEHIND)):
        notes = struct.pack("<4Q", 10, NOW_NS, 20, at_ns)
        with pytest.raises(RunError, match="what the far host says of times is wrong"):
            notes_here(notes, found)


def test_a_note_that_the_far_clock_cannot_have_is_the_far_hosts_fault() -> None:
    with pytest.raises(RunError, match="what the far host says of times is wrong"):
        notes_there(struct.pack("<2Q", 10, 5), BEHIND)


@pytest.mark.parametrize(
    ("strays_ns", "drift", "shown"),
    [
        ([0, 0], 20e-6, 0.0),  # 20 µs in a second, where a round trip takes 40.
        ([0, 0, 0, 0], 20e-6, 20e-6),
        ([-20_000, 20_000], 0.0, 0.0),
        ([0, 0, 0], -100e-6, -100e-6),
    ],
)
def test_a_line_goes_on_with_a_drift_that_its_looks_show(
    strays_ns: list[int], drift: float, shown: float
) -> None:
    with telling(lambda _: 0) as asked:
        asked._looks.extend(looks(7, drift, strays_ns))
        onwards, found = asked.onwards(), asked.difference_now()
    last_ns = NOW_NS + (len(strays_ns) - 1) * SECOND_NS
    assert onwards.rate == pytest.approx(shown, abs=1e-9)
    assert abs(onwards.far_ns(last_ns) - found.far_ns(last_ns)) <= 1


def test_a_difference_strays_from_a_line_most_at_an_end_or_where_it_bends() -> None:
    line = Difference(since_ns=NOW_NS, offset_ns=7, rate=0.0, bound_ns=1)
    steep = Difference(since_ns=NOW_NS, offset_ns=9, rate=1e-3, bound_ns=1)
    bend_ns, end_ns = NOW_NS + SECOND_NS, NOW_NS + 3 * SECOND_NS
    back = Difference(since_ns=bend_ns, offset_ns=9 + SECOND_NS // 1_000, rate=-1e-3, bound_ns=1)
    assert Followed([steep]).strays_ns(line, NOW_NS, bend_ns) == 1_000_002
    assert Followed([steep, back]).strays_ns(line, NOW_NS, end_ns - SECOND_NS) == 1_000_002
    assert Followed([steep, back]).strays_ns(line, NOW_NS, end_ns) == 1_000_002
    later_ns = bend_ns + 1_000_000
    assert Followed([steep, back]).strays_ns(line, later_ns, end_ns) == 999_998


@pytest.mark.parametrize("drift", [0.0, 50e-6, -200e-6])
def test_a_time_of_either_clock_has_one_of_the_other(drift: float) -> None:
    found = followed(looks(7 * SECOND_NS, drift, [0, 9_000, -3_000, 5_000]), NOW_NS + SECOND_NS)
    for after_ms in range(0, 5_000, 130):
        near_ns = NOW_NS + after_ms * 1_000_000
        assert abs(found.near_ns(found.far_ns(near_ns)) - near_ns) <= 1


def test_the_bound_is_half_a_round_trip_and_what_looks_stray() -> None:
    assert difference(looks(0, 0.0, [0, 0])).bound_ns >= TRIP_NS // 2
    assert difference(looks(0, 0.0, [0, 9_000, 0])).bound_ns >= TRIP_NS // 2 + 4_500
    assert followed(looks(0, 0.0, [0, 9_000, 0]), NOW_NS).bound_ns >= TRIP_NS // 2 + 4_500


def test_a_way_that_is_slower_there_is_within_the_bound_and_not_seen() -> None:
    there_ns, back_ns = 35_000, 5_000
    # The far clock is the near one: it is read `there_ns` after the question.
    asymmetric = (there_ns - back_ns) // 2
    found = followed(looks(asymmetric, 0.0, [0, 0, 0]), NOW_NS)
    assert NOW_NS - found.near_ns(NOW_NS) == asymmetric <= found.bound_ns


def test_a_clock_that_jumps_is_told() -> None:
    with pytest.raises(RunError, match="has jumped by about"):
        difference(looks(0, 0.0, [0, 0, 0, 50_000_000]))


def test_a_jump_between_the_two_looks_of_the_first_stream_is_told() -> None:
    """A line goes through two looks however far apart they are, and through a third beside one."""
    first = Look(NOW_NS, 0, TRIP_NS)
    beside = Look(NOW_NS + 1_000_000, 0, TRIP_NS)
    after = Look(NOW_NS + 2 * SECOND_NS, 5_000_000, TRIP_NS)
    with pytest.raises(RunError, match="has jumped by about 5 ms"):
        difference([first, beside, after])


@contextmanager
def telling(time_ns: Callable[[int], int], wait_s: float = 0.0) -> Iterator[Clock]:
    """A clock that answers question `i` with `time_ns(i)`, after a while."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def tell() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(TOKEN_BYTES, socket.MSG_WAITALL)
                sock.sendall(_native.Admission.ADMITTED)
                asked = 0
                while sock.recv(1):
                    time.sleep(wait_s)
                    sock.sendall(TIME.pack(time_ns(asked)))
                    asked += 1

        thread = threading.Thread(target=tell)
        thread.start()
        found = Clock("127.0.0.1", listener.getsockname()[1], b"0" * TOKEN_BYTES)
        try:
            yield found
        finally:
            found.close()
            thread.join()


def test_a_clock_that_jumps_during_a_run_is_named_and_the_next_run_is_measured() -> None:
    ahead_ns = 0
    with telling(lambda _: time.monotonic_ns() + ahead_ns) as found:
        found.look()
        start_ns = time.monotonic_ns()
        ahead_ns = JUMP_NS
        found.look()
        with pytest.raises(
            RunError, match=r"a clock of the two hosts has jumped by about 5e\+03 ms"
        ):
            found.followed(start_ns)
        start_ns = time.monotonic_ns()
        found.look()
        assert abs(found.followed(start_ns).far_ns(start_ns) - start_ns - JUMP_NS) < SECOND_NS


def test_a_jump_before_a_run_does_not_fail_it() -> None:
    """The far host was suspended between two rounds, for example, and nobody asked meanwhile."""
    ahead_ns = 0
    with telling(lambda _: time.monotonic_ns() + ahead_ns) as found:
        before_ns = time.monotonic_ns()
        found.look()
        found.look()
        ahead_ns = JUMP_NS
        found.look()
        start_ns = time.monotonic_ns()
        found.look()
        assert abs(found.followed(start_ns).far_ns(start_ns) - start_ns - JUMP_NS) < SECOND_NS
        with pytest.raises(RunError, match="has jumped"):
            found.followed(before_ns)


def test_a_jump_is_told_of_every_case_that_ran_meanwhile() -> None:
    """The first of two cases of a load that asks must not be the only one that is told."""
    ahead_ns = 0
    with telling(lambda _: time.monotonic_ns() + ahead_ns) as found:
        found.look()
        start_ns = time.monotonic_ns()
        ahead_ns = JUMP_NS
        for _ in range(2):
            found.look()
            with pytest.raises(RunError, match="has jumped"):
                found.followed(start_ns)
        assert abs(found.difference_now().offset_ns - JUMP_NS) < SECOND_NS
        assert abs(found.followed(time.monotonic_ns()).far_ns(0) - JUMP_NS) < SECOND_NS


def test_a_look_over_a_long_way_takes_fewer_round_trips() -> None:
    asked = 0

    def time_ns(number: int) -> int:
        nonlocal asked
        asked = number + 1
        return time.monotonic_ns()

    with telling(time_ns, wait_s=0.2) as found:
        found.look()
    assert clock.FEWEST_TRIPS <= asked < clock._TRIPS


def test_all_cases_that_began_together_have_the_look_before_their_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many look at their ends, and however long ago the start was."""
    monkeypatch.setattr(clock, "_TELLING_NS", 0)
    drift = 50e-6
    begun_ns = time.monotonic_ns()

    def drifting_ns(_: int) -> int:
        now_ns = time.monotonic_ns()
        return now_ns + round(drift * (now_ns - begun_ns))

    with telling(drifting_ns) as found:
        found.look()
        start_ns = time.monotonic_ns()
        time.sleep(0.05)
        for _ in range(4):
            found.look()
            known = found.followed(start_ns)
            assert known.since_ns <= start_ns
            ahead_ns = known.far_ns(start_ns) - start_ns - drift * (start_ns - begun_ns)
            assert abs(ahead_ns) <= known.bound_ns


def test_cases_that_begin_or_end_together_share_a_look() -> None:
    asked: list[int] = []

    def time_ns(number: int) -> int:
        asked.append(number)
        return time.monotonic_ns()

    with telling(time_ns) as found:
        before_ns = time.monotonic_ns()
        for _ in range(3):
            found.look(before_ns)
        assert len(asked) <= clock._TRIPS
        found.look(time.monotonic_ns())
        assert len(found._looks) == 2


class InPieces:
    """A socket that returns these, one at a time, as one with a timeout may."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def recv(self, length: int, _flags: int = 0) -> bytes:
        piece = self._pieces.pop(0)
        assert len(piece) <= length
        return piece


def test_a_time_that_comes_in_pieces_is_heard_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    told = TIME.pack(NOW_NS)
    with telling(lambda _: NOW_NS) as found, monkeypatch.context() as patched:
        patched.setattr(found, "_sock", InPieces(told[:1], told[1:7], told[7:]))
        assert found._hear() == told


def test_a_time_that_no_clock_has_is_refused() -> None:
    """An order with a time that is counted from it would be refused."""
    with (
        telling(lambda _: (1 << 64) - 1) as found,
        pytest.raises(RunError, match="tells a time that no clock has"),
    ):
        found.look()


def test_a_clock_that_has_failed_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_LIMIT_S", 0.2)
    with telling(lambda _: time.monotonic_ns(), wait_s=1.0) as found:
        with pytest.raises(RunError, match="does not answer") as first:
            found.look()
        monkeypatch.setattr(found, "_ask", lambda: pytest.fail("it was asked again"))
        with pytest.raises(RunError, match="does not answer") as again:
            found.look()
        assert str(first.value) == str(again.value)
