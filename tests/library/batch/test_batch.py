"""`tinygram.batch`: what a plain loop sends leaves in few writes, in order, and in time."""

from __future__ import annotations

import array
import socket
import time

import pytest
from tests.library.setups import LONG, STRATEGIES
from tests.library.wires import Pair, receive_all, receive_exactly, waiting_bytes

import tinygram


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_what_arrives_is_what_was_sent(pair: Pair, strategy: tinygram.Strategy) -> None:
    ours, peer = pair
    messages = [b"%d;" % number * (number % 50) for number in range(200)]
    with ours, tinygram.batch(ours, strategy=strategy) as out:
        for message in messages:
            out.send(message)
        stats, held_bytes = out.stats(), out.held_bytes
    assert receive_all(peer) == b"".join(messages)
    assert stats.messages == sum(map(bool, messages))
    assert stats.bytes + held_bytes == len(b"".join(messages))


def test_nodelay_writes_each_message(pair: Pair) -> None:
    with tinygram.batch(pair[0], strategy=tinygram.nodelay) as out:
        for _ in range(10):
            out.send(b"message")
        stats = out.stats()
    assert (stats.messages, stats.writes, stats.bytes) == (10, 10, 70)
    assert stats.messages_per_write == 1
    assert stats.flushes["each_message"] == 10
    assert stats.holds.count == 0


def test_a_tick_ends_where_the_caller_says(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=tinygram.tick) as out:
        out.send(b"one ")
        out.send(b"two ")
        assert waiting_bytes(peer) == 0
        deadline_ns = out.deadline_ns
        assert deadline_ns is not None
        assert deadline_ns <= time.monotonic_ns()
        out.poll()
        assert receive_exactly(peer, 8) == b"one two "
        out.send(b"three")
        out.flush()
        assert receive_exactly(peer, 5) == b"three"
        stats = out.stats()
    assert stats.writes == 2
    assert (stats.flushes["tick"], stats.flushes["asked"]) == (1, 1)


def test_coalesce_holds_until_the_deadline_that_it_names(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=LONG) as out:
        before_ns = time.monotonic_ns()
        out.send(b"held ")
        deadline_ns = out.deadline_ns
        assert deadline_ns is not None
        hold_ns = 60_000_000_000
        assert before_ns + hold_ns <= deadline_ns <= time.monotonic_ns() + hold_ns
        out.send(b"back")
        assert out.deadline_ns == deadline_ns, "the first message's hold is the batch's"
        assert waiting_bytes(peer) == 0


def test_poll_at_the_deadline_sends_what_is_held(pair: Pair) -> None:
    """One message: a machine that stopped us may be past the hold when another is sent."""
    ours, peer = pair
    with tinygram.batch(ours, strategy=tinygram.coalesce(5_000)) as out:
        out.send(b"held")
        deadline_ns = out.deadline_ns
        assert deadline_ns is not None
        while time.monotonic_ns() < deadline_ns:
            time.sleep(0.001)
        out.poll()
        assert receive_exactly(peer, 4) == b"held"
        assert out.deadline_ns is None
        assert out.stats().flushes["deadline"] == 1
        assert out.stats().holds.count == 1


def test_a_message_after_the_deadline_takes_the_held_ones_along(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=tinygram.coalesce(1)) as out:
        out.send(b"held ")
        time.sleep(0.001)
        out.send(b"back")
        assert receive_exactly(peer, 9) == b"held back"
        assert out.stats().overruns == 1


def test_poll_before_the_deadline_sends_nothing(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=LONG) as out:
        out.poll()
        out.send(b"held")
        out.poll()
        assert waiting_bytes(peer) == 0
        assert out.stats().writes == 0
    assert receive_exactly(peer, 4) == b"held"


def test_a_first_message_leaves_at_once_by_default(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours) as out:
        out.send(b"at once")
        assert receive_exactly(peer, 7) == b"at once"
        assert out.deadline_ns is None


def test_max_hold_bounds_a_tick(pair: Pair) -> None:
    with tinygram.batch(pair[0], strategy=tinygram.tick, max_hold_us=1) as out:
        out.send(b"held ")
        time.sleep(0.001)
        out.send(b"back")
        assert receive_exactly(pair[1], 9) == b"held back"


def test_a_full_batch_leaves(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=LONG, max_bytes=100) as out:
        for _ in range(10):
            out.send(b"0123456789")
        assert receive_exactly(peer, 100) == b"0123456789" * 10
        assert out.stats().flushes["full"] == 1


def test_the_block_ends_with_a_flush(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=LONG) as out:
        out.send(b"last")
    assert receive_exactly(peer, 4) == b"last"


def test_the_block_ends_with_a_flush_after_an_exception_too(pair: Pair) -> None:
    """The last bytes before an error are those that explain it (nats.go #333)."""
    ours, peer = pair

    def fail() -> None:
        with ours, tinygram.batch(ours, strategy=LONG) as out:
            out.send(b"last words")
            raise KeyError("the program's own")

    with pytest.raises(KeyError, match="the program's own"):
        fail()
    assert receive_all(peer) == b"last words"


@pytest.mark.parametrize(
    "message",
    [
        bytearray(b"abcd"),
        memoryview(b"abcd"),
        memoryview(b"a-b-c-d-")[::2],
        array.array("B", b"abcd"),
        type("Bytes", (bytes,), {})(b"abcd"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_any_bytes_like_object_is_a_message(pair: Pair, message: bytes) -> None:
    with tinygram.batch(pair[0], strategy=LONG) as out:
        out.send(message)
    assert receive_exactly(pair[1], 4) == b"abcd"


def test_an_empty_message_is_none(pair: Pair) -> None:
    with tinygram.batch(pair[0]) as out:
        out.send(b"")
        assert out.deadline_ns is None
        assert out.stats().messages == 0


def test_a_buffer_may_be_used_again_after_send(pair: Pair) -> None:
    """Held bytes are a copy: a parser's buffer, reused, must not change what was sent."""
    ours, peer = pair
    buffer = bytearray(b"first ")
    with tinygram.batch(ours, strategy=LONG) as out:
        out.send(buffer)
        buffer[:] = b"second"
        out.send(memoryview(buffer))
        buffer.clear()  # BufferError if it were still exported.
    assert receive_exactly(peer, 12) == b"first second"


def test_tcp_nodelay_is_as_the_strategy_wants_it(tcp: Pair) -> None:
    for strategy in STRATEGIES.values():
        with tinygram.batch(tcp[0], strategy=strategy):
            nodelay = tcp[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert bool(nodelay) == (strategy != tinygram.nagle), strategy
