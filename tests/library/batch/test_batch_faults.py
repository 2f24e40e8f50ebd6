"""`tinygram.batch` when things go wrong: what was accepted is sent once, or an error says why."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.library.setups import LONG
from tests.library.wires import (
    LONGEST_S,
    STALLED,
    Pair,
    finish,
    receive_all,
    receive_exactly,
    reset,
    start_python,
    wait_until_reset,
    wait_until_stalled,
    waiting_bytes,
)

import tinygram


def numbered(count: int) -> bytes:
    """Bytes of which no part looks like another."""
    return b"".join(b"%08d" % number for number in range(count // 8))


class Number(int):
    """Each is an object of its own: of small ones, Python itself has a single object."""


class Numbered(socket.socket):
    """A socket whose descriptor's number is a new object each time, as for those above 256."""

    def fileno(self) -> int:
        return Number(super().fileno())


def grown_objects(act: Callable[[], None]) -> int:
    """How many objects more there are after 10,000 calls of `act`, with no other call between."""
    act()
    before = sys.getallocatedblocks()
    for _ in range(10_000):
        act()
    return sys.getallocatedblocks() - before


def test_a_program_that_only_sends_does_not_grow(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    with Numbered(fileno=ours.detach()) as sock:
        out = tinygram.batch(sock, strategy=tinygram.nodelay)

        def write() -> None:
            out.send(b"x")
            assert peer.recv(2) == b"x"

        assert grown_objects(write) < 100


def test_refused_messages_leave_nothing(unix_pair: Pair) -> None:
    out = tinygram.batch(unix_pair[0], max_buffered_bytes=1)

    def refuse() -> None:
        with contextlib.suppress(BufferError):
            out.send(b"too large")

    assert grown_objects(refuse) < 100


def test_a_timeout_keeps_the_rest_for_the_next_flush(pair: Pair) -> None:
    ours, peer = pair
    ours.settimeout(0.05)
    sent = numbered(STALLED)
    received = bytearray()
    out = tinygram.batch(ours)
    with pytest.raises(TimeoutError, match="timed out"):
        out.send(sent)
    with pytest.raises(TimeoutError):
        out.flush()
    reader = threading.Thread(
        target=lambda: received.extend(receive_exactly(peer, STALLED + 4)), daemon=True
    )
    reader.start()
    while out.held_bytes:
        try:
            if out.stats().messages == 1:
                out.send(b"tail")
            else:
                out.flush()
        except TimeoutError:
            continue
    reader.join(timeout=LONGEST_S)
    assert bytes(received) == sent + b"tail"
    assert out.stats().bytes == len(received)
    assert out.stats().messages == 2


def test_both_sides_only_write(pair: Pair) -> None:
    """go-redis #4002: each waited for the other to read. A timeout ends it, and loses nothing."""
    outs = []
    for sock in pair:
        sock.settimeout(0.01)
        outs.append(tinygram.batch(sock))
    for out in outs:
        with pytest.raises(TimeoutError):
            out.send(numbered(STALLED))
    received = [bytearray(), bytearray()]
    while any(out.held_bytes for out in outs) or min(map(len, received)) < STALLED:
        for out, sock, chunks in zip(outs, pair, received, strict=True):
            with contextlib.suppress(TimeoutError):
                out.flush()
            if waiting_bytes(sock):
                chunks += sock.recv(STALLED)
    assert [bytes(chunks) for chunks in received] == [numbered(STALLED)] * 2


def test_ctrl_c_ends_a_blocked_send_and_loses_nothing(pair: Pair) -> None:
    ours, peer = pair
    process = start_python(
        f"""
        import tinygram
        with tinygram.batch(sock) as out:
            try:
                out.send(bytes(range(256)) * ({STALLED} // 256))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """,
        ours,
    )
    try:
        wait_until_stalled(peer, process.pid)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        assert receive_all(peer) == bytes(range(256)) * (STALLED // 256)
    finally:
        _, errors = finish(process)
    assert (process.returncode, errors) == (0, "")


def test_a_second_thread_neither_tears_nor_loses_a_message(pair: Pair) -> None:
    """One thread at a time is the rule; who breaks it may wait, and loses nothing."""
    ours, peer = pair
    out = tinygram.batch(ours)
    sent = numbered(STALLED)
    threads = [threading.Thread(target=out.send, args=(sent,), daemon=True)]
    threads[0].start()
    wait_until_stalled(peer)
    for message in (b"second", b"third-"):
        threads.append(threading.Thread(target=out.send, args=(message,), daemon=True))
        threads[-1].start()
    assert receive_exactly(peer, STALLED) == sent
    for thread in threads:
        thread.join(timeout=LONGEST_S)
    out.flush()
    assert receive_exactly(peer, 12) in (b"secondthird-", b"third-second")
    assert out.stats().messages == 3


def test_a_message_larger_than_the_buffer_may_be_is_refused_whole(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=LONG, max_buffered_bytes=100) as out:
        out.send(b"held ")
        with pytest.raises(BufferError, match="101 bytes is larger than max_buffered_bytes"):
            out.send(bytes(101))
        out.send(b"more")
    assert receive_exactly(peer, 9) == b"held more"


def test_what_does_not_fit_beside_what_is_held_waits_for_room(pair: Pair) -> None:
    with tinygram.batch(pair[0], strategy=LONG, max_buffered_bytes=100) as out:
        for number in range(50):
            out.send(b"%10d" % number)
            assert out.held_bytes <= 100
    assert receive_exactly(pair[1], 500) == b"".join(b"%10d" % number for number in range(50))


def test_a_timeout_with_a_bound_keeps_the_bound(unix_pair: Pair) -> None:
    """A stalled reader must not grow the buffer (cpython #127655)."""
    ours, peer = unix_pair
    ours.settimeout(0.01)
    out = tinygram.batch(ours, strategy=tinygram.nodelay, max_buffered_bytes=1000)
    accepted = bytearray()

    def fill() -> None:
        while True:
            accepted.extend(b"0123456789")
            out.send(b"0123456789")

    with pytest.raises(TimeoutError):
        fill()
    for _ in range(3):  # TimeoutError would say that it was taken.
        with pytest.raises(BufferError, match="bytes left no room: max_buffered_bytes would be"):
            out.send(bytes(1000))
    assert out.held_bytes <= 1000
    peer.setblocking(False)
    received = bytearray()
    while out.held_bytes or waiting_bytes(peer):
        received += peer.recv(1 << 16)
        out.flush()
    assert received == accepted


def test_a_reset_in_the_middle_of_a_batch_is_an_error(tcp: Pair) -> None:
    ours, peer = tcp
    out = tinygram.batch(ours, strategy=LONG)
    out.send(b"arrives")
    out.flush()
    assert receive_exactly(peer, 7) == b"arrives"
    out.send(b"held")
    reset(peer)
    wait_until_reset(ours)
    with pytest.raises(ConnectionError):
        out.flush()
    with pytest.raises(ConnectionError):
        out.flush()
    assert out.stats().bytes == 7
    assert out.held_bytes == 4


def test_a_peer_that_closed_is_an_error_and_no_signal(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    peer.close()
    with pytest.raises(BrokenPipeError), tinygram.batch(ours, strategy=LONG) as out:
        out.send(b"held")


def test_a_closed_socket_s_number_is_never_written_to(pair: Pair, tmp_path: Path) -> None:
    """The kernel gives the number to the next file that is opened."""
    ours, _ = pair
    out = tinygram.batch(ours, strategy=LONG)
    out.send(b"for the peer")
    number = ours.fileno()
    ours.close()
    with (tmp_path / "other").open("wb", buffering=0) as other:
        taken_over, other_peer = socket.socketpair()
        with taken_over, other_peer:
            assert number in (other.fileno(), taken_over.fileno(), other_peer.fileno())
            with pytest.raises((OSError, ValueError)):
                out.flush()
            with pytest.raises((OSError, ValueError)):
                out.send(b"another" * 100_000)
            assert (waiting_bytes(taken_over), waiting_bytes(other_peer)) == (0, 0)
    assert (tmp_path / "other").read_bytes() == b""


def test_a_fork_s_child_sends_only_its_own(pair: Pair) -> None:
    """Both processes have a copy of what is held: the parent alone sends it."""
    ours, peer = pair
    process = start_python(
        """
        import os, tinygram
        with tinygram.batch(sock, strategy=tinygram.coalesce(60e6)) as out:
            out.send(b"parent's;")
            child = os.fork()
            if child == 0:
                assert out.deadline_ns is None, "the child sees its parent's bytes"
            else:
                assert os.waitpid(child, 0)[1] == 0
            if child == 0:
                out.send(b"child's;")
        """,
        ours,
    )
    try:
        received = receive_all(peer)
    finally:
        _, errors = finish(process)
    assert (received, process.returncode, errors) == (b"child's;parent's;", 0, "")
