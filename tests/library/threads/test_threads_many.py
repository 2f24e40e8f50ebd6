"""`CoalescingSocket.send_many`: as if each message were sent in turn, by any number of threads.

No hypothesis here: these tests run on Pythons without a GIL, too.
"""

from __future__ import annotations

import errno
import threading
from typing import Any

import pytest
from tests.library.wires import LONGEST_S, STALLED, Pair, receive_all, reset, wait_until

import tinygram
from tinygram import CoalescingSocket, ConnectionFailedError

STRATEGIES = (
    tinygram.nodelay,
    tinygram.nagle,
    tinygram.combine,
    tinygram.coalesce(200),
    tinygram.adaptive,
)
LONG = tinygram.coalesce(3_600_000_000)
LISTS = 60
LIST_MESSAGES = 64


class Derived(bytes):
    """A subclass, whose content could be anything."""


def frame(thread: int, index: int) -> Any:
    """A message that says whose it is and which; every eighth is not exactly `bytes`."""
    data = b"<%d %d %s>" % (thread, index, b"x" * (index % 50))
    return (data, data, data, bytearray(data), data, memoryview(data), data, Derived(data))[
        index % 8
    ]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_every_byte_once_and_each_thread_s_in_order(
    pair: Pair, strategy: tinygram.Strategy
) -> None:
    ours, peer = pair
    received = bytearray()
    failures: list[BaseException] = []
    reading = threading.Thread(target=lambda: received.extend(receive_all(peer)), daemon=True)
    reading.start()
    with CoalescingSocket(ours, strategy=strategy, max_buffered_bytes=30_000) as sock:

        def send(thread: int) -> None:
            try:
                for first in range(0, LISTS * LIST_MESSAGES, LIST_MESSAGES):
                    sock.send_many(frame(thread, first + at) for at in range(LIST_MESSAGES))
            except BaseException as failure:
                failures.append(failure)
                raise

        threads = [threading.Thread(target=send, args=(n,), daemon=True) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * LONGEST_S)
            assert not thread.is_alive()
    assert not failures
    reading.join(LONGEST_S)
    next_index = [0] * 4
    for one in bytes(received).removeprefix(b"<").removesuffix(b">").split(b"><"):
        number, index, rest = one.split(b" ")
        assert int(index) == next_index[int(number)]
        assert rest == b"x" * (int(index) % 50)
        next_index[int(number)] += 1
    assert next_index == [LISTS * LIST_MESSAGES] * 4
    assert sock.stats().messages == 4 * LISTS * LIST_MESSAGES
    assert sock.stats().bytes == len(received)


def test_a_list_is_held_as_one_and_leaves_in_one_write(pair: Pair) -> None:
    ours, peer = pair
    with CoalescingSocket(ours, strategy=LONG) as sock:
        sock.send_many([b"a message"] * 1000)
        assert sock.held_bytes == 9000
        sock.flush(LONGEST_S)
        assert sock.stats().writes == 1
    assert receive_all(peer) == b"a message" * 1000


def test_nothing_and_what_is_no_message(pair: Pair) -> None:
    ours, peer = pair
    with CoalescingSocket(ours, strategy=LONG) as sock:
        sock.send_many([])
        wrong: Any = [b"one ", bytearray(b"two "), "three", b"never"]
        with pytest.raises(TypeError, match="bytes-like object, not str") as refused:
            sock.send_many(wrong)
        assert refused.value.taken_messages == 2  # type: ignore[attr-defined]
        not_iterable: Any = 5
        with pytest.raises(TypeError, match="not iterable"):
            sock.send_many(not_iterable)
    assert receive_all(peer) == b"one two "


def test_a_socket_that_does_not_wait_takes_what_there_is_room_for(pair: Pair) -> None:
    ours, peer = pair
    ours.setblocking(False)
    messages = [b"%08d" % number * 100 for number in range(STALLED // 800)]
    sock = CoalescingSocket(ours, strategy=tinygram.combine, max_buffered_bytes=10_000)
    with pytest.raises(BlockingIOError, match="max_buffered_bytes") as refused:
        sock.send_many(messages)
    at = refused.value.taken_messages  # type: ignore[attr-defined]
    assert 0 < at < len(messages)
    received = bytearray()
    reading = threading.Thread(target=lambda: received.extend(receive_all(peer)), daemon=True)
    reading.start()
    while at < len(messages):
        try:
            sock.send_many(messages[at:])
            at = len(messages)
        except BlockingIOError as again:
            at += again.taken_messages  # type: ignore[attr-defined]
    sock.close(LONGEST_S)
    reading.join(LONGEST_S)
    assert received == b"".join(messages)


def test_a_timeout_says_how_many_were_taken(pair: Pair) -> None:
    ours, _ = pair
    ours.settimeout(0.05)
    messages = [bytes(1000)] * (STALLED // 1000)
    sock = CoalescingSocket(ours, strategy=tinygram.combine, max_buffered_bytes=10_000)
    with pytest.raises(TimeoutError) as late:
        sock.send_many(messages)
    taken = late.value.taken_messages  # type: ignore[attr-defined]
    assert sock.stats().messages == taken
    # Some may be leaving between the two counts, until the kernel takes no more.
    wait_until(lambda: sock.stats().bytes + sock.held_bytes == 1000 * taken, "bytes are miscounted")
    sock.abort()


def test_it_waits_for_room_as_a_single_one_does(pair: Pair) -> None:
    ours, peer = pair
    received = bytearray()
    with CoalescingSocket(ours, max_buffered_bytes=10_000) as sock:
        messages = [b"%08d" % number * 100 for number in range(STALLED // 800)]
        sending = threading.Thread(target=sock.send_many, args=(messages,), daemon=True)
        sending.start()
        wait_until(lambda: sock.held_bytes > 9_000, "nothing fills up")
        reading = threading.Thread(target=lambda: received.extend(receive_all(peer)), daemon=True)
        reading.start()
        sending.join(LONGEST_S)
        assert not sending.is_alive()
    reading.join(LONGEST_S)
    assert received == b"".join(messages)


def test_a_closed_socket_takes_none(pair: Pair) -> None:
    sock = CoalescingSocket(pair[0])
    sock.close(LONGEST_S)
    with pytest.raises(OSError, match="closed") as caught:
        sock.send_many([b"late"] * 3)
    assert caught.value.errno == errno.EBADF
    assert caught.value.taken_messages == 0  # type: ignore[attr-defined]
    sock.send_many([])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_a_failure_counts_the_bytes_of_those_that_were_taken(
    tcp: Pair, strategy: tinygram.Strategy
) -> None:
    ours, peer = tcp
    sock = CoalescingSocket(ours, strategy=strategy)
    taken = 0
    failure: ConnectionFailedError | None = None
    reset(peer)
    while failure is None:
        try:
            sock.send_many([b"four"] * 10)
            taken += 10
        except ConnectionFailedError as error:
            taken += error.taken_messages  # type: ignore[attr-defined]
            failure = error
    told = failure.acknowledged_bytes + failure.unknown_bytes + failure.unsent_bytes
    assert told == 4 * taken
    with pytest.raises(ConnectionFailedError) as again:
        sock.send_many([b"late"])
    assert again.value.taken_messages == 0  # type: ignore[attr-defined]
