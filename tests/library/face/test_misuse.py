"""What would be lost, or mixed up, is refused."""

from __future__ import annotations

import gc
import os
import socket
import time

import pytest
from tests.library.wires import LONGEST_S, Pair, receive_all, receive_exactly

import tinygram
from tinygram import CoalescingSocket

LONG = tinygram.coalesce(60e6)


@pytest.mark.parametrize("strategy", [tinygram.nodelay, tinygram.tick, LONG], ids=str)
def test_send_after_the_block_of_a_batch_is_refused(
    pair: Pair, strategy: tinygram.Strategy
) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=strategy) as out:
        for _ in range(100):
            out.send(b"in;")
    for _ in range(3):
        with pytest.raises(ValueError, match="the batch's `with` block has ended"):
            out.send(b"after;")
    assert (out.held_bytes, out.stats().messages) == (0, 100)
    ours.close()
    assert receive_all(peer) == b"in;" * 100


def test_a_batch_may_have_another_block(pair: Pair) -> None:
    ours, peer = pair
    out = tinygram.batch(ours, strategy=LONG)
    out.send(b"before;")
    for message in (b"first;", b"second;"):
        with out:
            out.send(message)
    ours.close()
    assert receive_all(peer) == b"before;first;second;"


def test_a_block_that_could_not_write_all_is_flushed_later(tcp: Pair) -> None:
    ours, peer = tcp
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    ours.settimeout(0.05)
    message = bytes(4 << 20)
    with pytest.raises(TimeoutError), tinygram.batch(ours, strategy=LONG) as out:
        out.send(message)
    with pytest.raises(ValueError, match="has ended"):
        out.send(b"after;")
    received = 0
    while out.held_bytes:
        received += len(peer.recv(1 << 20))
        try:
            out.flush()
        except TimeoutError:
            continue
    ours.close()
    assert received + len(receive_all(peer)) == len(message)


def duplicate(sock: socket.socket) -> socket.socket:
    return sock.dup()


def of_the_same_descriptor(sock: socket.socket) -> socket.socket:
    return socket.socket(fileno=os.dup(sock.fileno()))


def same(sock: socket.socket) -> socket.socket:
    return sock


@pytest.mark.parametrize("again", [same, duplicate, of_the_same_descriptor])
def test_a_connection_has_one_coalescing_socket_at_a_time(pair: Pair, again: object) -> None:
    """Two would write their parts in between each other's, and each would wait for its own only."""
    ours, peer = pair
    other = again(ours)  # type: ignore[operator]
    sock = CoalescingSocket(ours, strategy=LONG)
    sock.send(b"first;")
    with pytest.raises(ValueError, match=r"already has a CoalescingSocket: share that one"):
        CoalescingSocket(other)
    assert sock.abort() == 6
    second = CoalescingSocket(other)  # It has been given up.
    second.send(b"second;")
    second.close(timeout_s=LONGEST_S)
    assert receive_all(peer) == b"second;"


def test_one_that_is_gone_or_was_refused_makes_place(pair: Pair) -> None:
    ours, peer = pair
    with pytest.raises(TypeError):
        CoalescingSocket(ours, strategy="tick")  # type: ignore[arg-type]
    CoalescingSocket(ours).send(b"first;")
    gc.collect()
    with CoalescingSocket(ours) as sock:
        sock.send(b"second;")
    assert receive_all(peer) == b"first;second;"


def test_what_one_that_is_gone_has_still_to_send_is_sent_before_anything_else(tcp: Pair) -> None:
    ours, peer = tcp
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    message = bytes(range(256)) * (16 << 10)
    CoalescingSocket(ours).send(message)
    gc.collect()
    with pytest.raises(ValueError, match=r"had a CoalescingSocket, which is gone: \d+ bytes"):
        CoalescingSocket(ours)
    assert receive_exactly(peer, len(message)) == message
    with next_one(ours) as sock:
        sock.send(b"second;")
    assert receive_all(peer) == b"second;"


def next_one(ours: socket.socket) -> CoalescingSocket:
    """Wait until the writing thread has taken note that the kernel has all."""
    give_up = time.monotonic() + LONGEST_S
    while True:
        try:
            return CoalescingSocket(ours)
        except ValueError:
            assert time.monotonic() < give_up
            time.sleep(0.001)


def test_a_closed_one_leaves_nothing_behind_for_the_next_connection() -> None:
    """Inodes and descriptors are given again."""
    for _ in range(50):
        ours, peer = socket.socketpair()
        with peer, CoalescingSocket(ours) as sock:
            sock.send(b"message")


def test_two_connections_have_one_each(pair: Pair) -> None:
    ours, peer = pair
    with CoalescingSocket(ours) as one, CoalescingSocket(peer) as other:
        one.send(b"there;")
        other.send(b"back;")
