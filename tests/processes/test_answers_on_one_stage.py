"""Answers of processes that share a stage: hearing one keeps what the others have said."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from tests.processes.idle import IdleProcess, IdleTold

from tinygram_bench.processes.children import answers, as_they_answer, check_running
from tinygram_bench.processes.orders import End, Listening, Ready
from tinygram_bench.processes.workers import RunError


@pytest.fixture
def two() -> Iterator[list[tuple[IdleTold, socket.socket]]]:
    """Two processes, and the sockets on which they answer."""
    pairs = [socket.socketpair() for _ in range(2)]
    yield [(IdleTold(IdleProcess("sender"), ours), theirs) for ours, theirs in pairs]
    for pair in pairs:
        for end in pair:
            end.close()


def test_who_has_answered_while_another_was_heard_is_not_waited_for(
    two: list[tuple[IdleTold, socket.socket]],
) -> None:
    (first, says_first), (second, says_second) = two
    says_first.sendall(b"{}\n{}\n")
    says_second.sendall(b"{}\n")
    late_s = time.monotonic() + 60
    answers([first], Ready, late_s, "is late", [first, second])
    begun_s = time.monotonic()
    found = list(as_they_answer([[first], [second]], late_s, [[], []]))
    assert sorted(found) == [(0, True), (1, True)]
    assert time.monotonic() - begun_s < 30
    answers([first, second], End, late_s, "is late", [first, second])


def test_who_says_nothing_until_then_is_told_as_silent(
    two: list[tuple[IdleTold, socket.socket]],
) -> None:
    (first, says_first), (second, _) = two
    says_first.sendall(b"{}\n")
    found = list(as_they_answer([[first], [second]], time.monotonic() + 0.1, [[], [second]]))
    assert found == [(0, True), (1, False)]


@pytest.mark.parametrize("answers_too", [True, False])
def test_who_is_cut_off_leaves_nobody_of_its_group_to_wait_for(
    two: list[tuple[IdleTold, socket.socket]], answers_too: bool
) -> None:
    (first, ends_first), (second, _) = two
    first.process.is_cut_off = True  # type: ignore[misc]
    ends_first.sendall(b"unheard")
    ends_first.close()
    begun_s = time.monotonic()
    of = [first, second] if answers_too else [second]
    found = list(as_they_answer([of], begun_s + 60, [[first, second]]))
    assert found == [(0, True)]
    assert time.monotonic() - begun_s < 30


def test_who_ends_beside_a_group_without_having_been_cut_off_is_no_answer(
    two: list[tuple[IdleTold, socket.socket]],
) -> None:
    (first, ends_first), (second, _) = two
    ends_first.close()
    give_up_s = time.monotonic() + 0.1
    assert list(as_they_answer([[second]], give_up_s, [[first, second]])) == [(0, False)]
    assert time.monotonic() >= give_up_s


@pytest.mark.parametrize("line", [b'{"port": 99999}', b"{}", b"[" * 5_000, b"\xff"])
def test_an_answer_of_another_kind_is_a_failed_run(
    two: list[tuple[IdleTold, socket.socket]], line: bytes
) -> None:
    (first, says_first), _ = two
    says_first.sendall(line + b"\n")
    with pytest.raises(RunError, match="the sender answered something else: "):
        answers([first], Listening, time.monotonic() + 60, "is late", [first])


def test_who_ends_soon_is_told_and_what_was_said_stays(
    two: list[tuple[IdleTold, socket.socket]],
) -> None:
    (first, says_first), (second, says_second) = two
    says_first.sendall(b"{}\n")
    check_running([first, second], [], 0.1)
    says_second.sendall(b"{}\n")
    ending = threading.Timer(0.2, lambda: says_second.shutdown(socket.SHUT_WR))
    ending.start()
    with pytest.raises(RunError, match="ended early"):
        check_running([first, second], [], 60)
    ending.join()
    answers([first, second], Ready, time.monotonic() + 60, "is late", [first])
