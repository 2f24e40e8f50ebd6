"""`Batch.send_many`: as if each message were sent in turn; errors say how many were taken."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.library.setups import LONG, STRATEGIES
from tests.library.wires import (
    LONGEST_S,
    Pair,
    receive_all,
    receive_exactly,
    reset,
    tcp_pair,
    wait_until,
    wait_until_reset,
    waiting_bytes,
)

import tinygram

MESSAGES = [b"%d;" % number * (number % 50) for number in range(200)]


class Derived(bytes):
    """A subclass, whose content could be anything."""


def generated(messages: list[bytes]) -> Iterator[bytes]:
    yield from messages


def in_many_forms(messages: list[bytes]) -> list[Any]:
    forms: list[Callable[[bytes], Any]] = [bytes, bytearray, memoryview, Derived]
    return [forms[index % 4](message) for index, message in enumerate(messages)]


@pytest.mark.parametrize("form", [list, tuple, iter, generated, in_many_forms])
@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_what_arrives_is_what_was_sent(
    pair: Pair, strategy: tinygram.Strategy, form: Callable[[list[bytes]], Any]
) -> None:
    ours, peer = pair
    with ours, tinygram.batch(ours, strategy=strategy) as out:
        out.send_many(form(MESSAGES))
        stats, held_bytes = out.stats(), out.held_bytes
    assert receive_all(peer) == b"".join(MESSAGES)
    assert stats.messages == sum(map(bool, MESSAGES))
    assert stats.bytes + held_bytes == len(b"".join(MESSAGES))


def test_a_full_batch_leaves_on_the_way(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=LONG, max_bytes=1000) as out:
        out.send_many([b"x" * 100] * 25)
        wait_until(lambda: waiting_bytes(peer) == 2000, "two full batches do not come")
        assert out.held_bytes == 500
        assert out.stats().flushes["full"] == 2


def test_a_deadline_ends_a_hold_on_the_way(pair: Pair) -> None:
    ours, peer = pair
    received_bytes = 0
    with tinygram.batch(ours, strategy=tinygram.coalesce(1)) as out:
        for _ in range(100):
            out.send_many([b"message"] * 100)
            # A slow host may write each message by itself; some hundred such writes fill a buffer.
            received_bytes += len(receive_exactly(peer, out.stats().bytes - received_bytes))
        assert out.stats().flushes["deadline"] > 1


def test_buffers_used_again_after_it(pair: Pair) -> None:
    ours, peer = pair
    buffer = bytearray(b"first ")
    with ours, tinygram.batch(ours, strategy=LONG) as out:
        out.send_many([buffer, buffer])
        buffer[:] = b"second"
        out.send_many([buffer])
    assert receive_all(peer) == b"first first second"


def test_an_iterable_that_fails_sends_nothing(unix_pair: Pair) -> None:
    def failing() -> Iterator[bytes]:
        yield b"message"
        raise LookupError("no more")

    with tinygram.batch(unix_pair[0], strategy=LONG) as out:
        with pytest.raises(LookupError, match="no more") as failed:
            out.send_many(failing())
        assert not hasattr(failed.value, "taken_messages")
        assert out.held_bytes == 0


@pytest.mark.parametrize("value", [None, 3, object()])
def test_what_is_no_iterable(unix_pair: Pair, value: Any) -> None:
    with (
        tinygram.batch(unix_pair[0]) as out,
        pytest.raises(TypeError, match="not iterable"),
    ):
        out.send_many(value)


def taken(call: Callable[[Any], None], messages: Any, error: type[BaseException]) -> int:
    """How many messages the exception says were taken."""
    with pytest.raises(error) as raised:
        call(messages)
    assert type(raised.value) is error or error is OSError
    count: int = raised.value.taken_messages  # type: ignore[attr-defined]
    return count


@pytest.mark.parametrize("strategy", [LONG, tinygram.nodelay, tinygram.tick], ids=str)
@pytest.mark.parametrize("value", ["text", None, 5, [b"list"]])
def test_those_before_what_is_no_message_are_taken(
    pair: Pair, strategy: tinygram.Strategy, value: Any
) -> None:
    ours, peer = pair
    with ours, tinygram.batch(ours, strategy=strategy) as out:
        assert taken(out.send_many, [b"one ", b"two ", value, b"never"], TypeError) == 2
        out.send_many([b"three"])
    assert receive_all(peer) == b"one two three"


def test_those_before_one_that_is_too_large_are_taken(pair: Pair) -> None:
    ours, peer = pair
    with ours, tinygram.batch(ours, strategy=LONG, max_buffered_bytes=100) as out:
        assert taken(out.send_many, [b"x" * 60, b"y" * 60, b"z" * 101, b"w"], BufferError) == 2
    assert receive_all(peer) == b"x" * 60 + b"y" * 60


def test_after_the_block_none_is_taken(unix_pair: Pair) -> None:
    for strategy in (LONG, tinygram.tick):
        with tinygram.batch(unix_pair[0], strategy=strategy) as out:
            out.send_many([b"message"] * 3)
        assert taken(out.send_many, [b"late"] * 3, ValueError) == 0
        assert out.held_bytes == 0


@pytest.mark.parametrize(
    ("max_buffered_bytes", "last"), [(None, TimeoutError), (1000, BufferError)]
)
def test_of_a_peer_that_takes_nothing_nothing_is_lost_or_sent_twice(
    pair: Pair, max_buffered_bytes: int | None, last: type[Exception]
) -> None:
    """What met TimeoutError was taken, what met BufferError was not."""
    ours, peer = pair
    ours.settimeout(0.02)
    out = tinygram.batch(ours, strategy=tinygram.nodelay, max_buffered_bytes=max_buffered_bytes)
    messages = [b"%08d" % number * 100 for number in range(50_000)]
    at = 0
    told: Exception | None = None
    while not isinstance(told, last):
        try:
            out.send_many(messages[at:])
        except (TimeoutError, BufferError) as error:
            told = error
            at += error.taken_messages  # type: ignore[union-attr]
    assert at == out.stats().messages < len(messages)
    received = bytearray()
    reading = threading.Thread(target=lambda: received.extend(receive_all(peer)), daemon=True)
    reading.start()
    while out.held_bytes:
        with contextlib.suppress(TimeoutError):
            out.flush()
    ours.close()
    reading.join(LONGEST_S)
    assert received == b"".join(messages[:at])


def test_a_reset_is_told_of_the_message_that_met_it() -> None:
    ours, peer = tcp_pair()
    with ours, peer:
        ours.settimeout(LONGEST_S)
        out = tinygram.batch(ours, strategy=tinygram.nodelay)
        out.send_many([b"one", b"two"])
        reset(peer)
        wait_until_reset(ours)
        assert taken(out.send_many, [b"three", b"four"], OSError) == 1


class Clearing(socket.socket):
    """Empties a list whenever it is asked for its descriptor."""

    messages: list[bytes]

    def fileno(self) -> int:
        self.messages.clear()
        return super().fileno()


def test_a_list_that_is_emptied_meanwhile_is_sent_as_it_was(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    sock = Clearing(fileno=ours.detach())
    sock.settimeout(LONGEST_S)
    sock.messages = []
    out = tinygram.batch(sock, strategy=tinygram.nodelay)
    # Made here alone, so that nothing but the list keeps them.
    sock.messages = [b"%d;" % number * 100 for number in range(100)]
    expected = b"".join(sock.messages)
    received = bytearray()
    reading = threading.Thread(target=lambda: received.extend(receive_all(peer)), daemon=True)
    reading.start()
    out.send_many(sock.messages)
    assert sock.messages == []
    sock.close()
    reading.join(LONGEST_S)
    assert received == expected


if sys.version_info >= (3, 12):  # Before it, no class of Python's has a buffer.

    def test_a_message_whose_buffer_changes_the_list(unix_pair: Pair) -> None:
        ours, peer = unix_pair
        messages: list[Any] = []

        class Sneaky:
            def __buffer__(self, flags: int) -> memoryview:
                messages.clear()
                return memoryview(b"sneaky")

        messages += [b"%d;" % number * 10 for number in range(20)]
        messages.insert(5, Sneaky())
        expected = [bytes(message) for message in messages if isinstance(message, bytes)]
        expected.insert(5, b"sneaky")
        with ours, tinygram.batch(ours, strategy=LONG) as out:
            out.send_many(messages)
        assert messages == []
        assert receive_all(peer) == b"".join(expected)
