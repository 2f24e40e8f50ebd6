"""Many threads on one connection, and something gives out: who is told, and of which bytes."""

from __future__ import annotations

import errno
import pickle
import select
import socket
import threading
import time

import pytest
from tests.library.wires import (
    LONGEST_S,
    STALLED,
    Pair,
    finish,
    receive_all,
    receive_exactly,
    reset,
    start_python,
    unacknowledged_bytes,
    wait_until,
    wait_until_asleep,
)

import tinygram
from tinygram import CoalescingSocket, ConnectionFailedError, DeliveryTimeoutError


def stall(sock: CoalescingSocket) -> None:
    """Send until the peer's buffers and ours are full, and the writing thread is in mid-batch."""
    sock.send(bytes(STALLED))
    wait_until_nothing_moves(sock)


def wait_until_nothing_moves(sock: CoalescingSocket) -> None:
    """For longer than TCP takes to look again at a peer that had no room.

    Meanwhile the kernel must have had no room for more, either: else it may be the writing thread
    that the host keeps from running.
    """
    looks, before = 0, (-1, -1)
    give_up_s = time.monotonic() + LONGEST_S
    while looks < 10:
        now = sock.held_bytes, unacknowledged_bytes(sock)
        is_full = not select.select([], [sock], [], 0)[1]
        told = f"held, unacknowledged: {now}, before: {before}; is the kernel full: {is_full}"
        assert time.monotonic() < give_up_s, told
        looks = looks + 1 if is_full and 0 < now[0] < STALLED and now == before else 0
        before = now
        time.sleep(0.05)


def test_an_abort_ends_the_wait_for_the_peer_s_acknowledgement(tcp: Pair) -> None:
    ours, peer = tcp
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock = CoalescingSocket(ours)
    failures: list[ConnectionFailedError] = []

    def close() -> None:
        try:
            sock.close()
        except ConnectionFailedError as failure:
            failures.append(failure)

    # Until our kernel has what the peer's, whose program reads nothing, has no room for.
    while unacknowledged_bytes(ours) <= 100_000:
        sock.send(bytes(1000))
        sock.flush(timeout_s=LONGEST_S)
    closing = threading.Thread(target=close)
    closing.start()
    wait_until(lambda: is_closed_for_more(sock), "the close does not begin")
    sock.abort()
    closing.join(LONGEST_S)
    assert not closing.is_alive()
    assert failures[0].errno == errno.ECONNABORTED
    assert failures[0].unknown_bytes > 0


def is_closed_for_more(sock: CoalescingSocket) -> bool:
    """Whether a close has begun."""
    try:
        sock.send(b"x")
    except OSError as error:
        return error.errno == errno.EBADF
    return False


@pytest.mark.parametrize(
    "error", [ConnectionFailedError(errno.EPIPE, 1, 2, 3), DeliveryTimeoutError(4, 5)]
)
def test_the_errors_can_come_from_another_process(error: Exception) -> None:
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert vars(copied) == vars(error)


def test_a_reset_in_mid_batch_accounts_for_every_byte(tcp: Pair) -> None:
    """What was written, what is unknown, what was not: together all that was handed over."""
    ours, peer = tcp
    sock = CoalescingSocket(ours, strategy=tinygram.combine)
    sock.send(b"arrives")
    sock.flush(timeout_s=LONGEST_S)
    assert receive_exactly(peer, 7) == b"arrives"
    stall(sock)
    flushing: list[BaseException] = []

    def flush() -> None:
        try:
            sock.flush()
        except ConnectionFailedError as failure:
            flushing.append(failure)

    waiting = threading.Thread(target=flush, daemon=True)
    waiting.start()
    receive_exactly(peer, 100_000)
    wait_until_nothing_moves(sock)
    held_bytes, written_bytes = sock.held_bytes, sock.stats().bytes
    unknown_bytes = unacknowledged_bytes(ours)
    assert unknown_bytes > 0
    reset(peer)
    waiting.join(timeout=LONGEST_S)
    with pytest.raises(ConnectionFailedError) as caught:
        sock.send(b"never taken")
    failure = caught.value
    assert [str(one) for one in flushing] == [str(failure)]
    assert failure.acknowledged_bytes == written_bytes - unknown_bytes
    assert failure.unknown_bytes == unknown_bytes
    assert failure.unsent_bytes == held_bytes == 7 + STALLED - written_bytes
    assert sock.held_bytes == 0


def test_flush_ends_though_others_go_on_sending(unix_pair: Pair) -> None:
    """What comes after the call is not waited for: the peer is too slow for that ever to end."""
    ours, peer = unix_pair
    sock = CoalescingSocket(ours, strategy=tinygram.combine, max_buffered_bytes=400_000)
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            sock.send(bytes(1000))

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    wait_until(lambda: sock.held_bytes > 390_000, "the peer takes everything")
    flushing = threading.Thread(target=sock.flush, daemon=True)
    flushing.start()
    received = 0
    while flushing.is_alive() and received < 30_000_000:
        received += len(peer.recv(2_000))
        time.sleep(0.001)
    was_flushed = not flushing.is_alive()
    is_over.set()
    receiving = threading.Thread(target=receive_all, args=(peer,))
    receiving.start()
    sending.join(timeout=LONGEST_S)
    sock.close(timeout_s=LONGEST_S)
    receiving.join(timeout=LONGEST_S)
    assert was_flushed


def test_who_waits_is_told_when_another_thread_gives_up_what_is_held(pair: Pair) -> None:
    """`flush` must not say that what `close` threw away was sent."""
    ours, _ = pair
    sock = CoalescingSocket(ours, strategy=tinygram.combine, max_buffered_bytes=10_000)
    stall(sock)
    raised: list[OSError] = []
    begin = threading.Barrier(3)

    def flush() -> None:
        begin.wait(timeout=LONGEST_S)
        try:
            sock.flush()
        except OSError as error:
            raised.append(error)

    def send() -> None:
        begin.wait(timeout=LONGEST_S)
        try:
            sock.send(b"no room")
        except OSError as error:
            raised.append(error)

    threads = [threading.Thread(target=act, daemon=True) for act in (flush, send)]
    for thread in threads:
        thread.start()
    begin.wait(timeout=LONGEST_S)
    wait_until_asleep(*threads)
    with pytest.raises(DeliveryTimeoutError) as late:
        sock.close(timeout_s=1)
    for thread in threads:
        thread.join(timeout=LONGEST_S)
    assert late.value.unsent_bytes > 0
    errors = {type(error): error for error in raised}
    told = errors.pop(ConnectionFailedError)
    assert isinstance(told, ConnectionFailedError)
    assert told.errno == errno.ECONNABORTED
    assert told.unsent_bytes == late.value.unsent_bytes
    assert [error.errno for error in errors.values()] == [errno.EBADF]


def test_close_waits_until_the_peer_has_it(tcp: Pair) -> None:
    """Our kernel has taken everything; that says nothing of the peer's."""
    ours, peer = tcp
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 400_000)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock = CoalescingSocket(ours, strategy=tinygram.combine)
    sock.send(bytes(200_000))
    sock.flush(timeout_s=LONGEST_S)
    wait_until(lambda: unacknowledged_bytes(ours) < 200_000, "the peer has taken nothing")
    with pytest.raises(DeliveryTimeoutError) as late:
        sock.close(timeout_s=0.2)
    assert late.value.unsent_bytes == 0
    assert 0 < late.value.unknown_bytes < 200_000
    assert receive_all(peer) == bytes(200_000)


def test_without_a_writing_thread_nothing_is_promised(unix_pair: Pair) -> None:
    """A message whose send raised is not sent later: the caller may send it elsewhere."""
    ours, peer = unix_pair
    script = """
import os, resource
import tinygram
out = tinygram.CoalescingSocket(sock, strategy=tinygram.combine)
free = os.dup(0)
os.close(free)
before = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
for _ in range(2):
    try:
        out.send(b"not taken")
        print("taken")
    except tinygram.ConnectionFailedError as failure:
        print(failure.errno, failure.unsent_bytes, out.held_bytes)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
"""
    out, err = finish(start_python(script, ours), 0)
    assert out.splitlines() == [f"{errno.EMFILE} 9 0"] * 2, err
    assert receive_all(peer) == b""


@pytest.mark.parametrize("then", ["", "del out"])
def test_a_failure_that_met_no_caller_is_said_at_exit(unix_pair: Pair, then: str) -> None:
    """The writing thread alone learns of it, after the program's last call."""
    ours, peer = unix_pair
    peer.close()
    script = f"""
import time
import tinygram
out = tinygram.CoalescingSocket(sock, strategy=tinygram.coalesce(100_000))
out.send(b"held, then lost")
{then}
time.sleep(1)
"""
    _, err = finish(start_python(script, ours), 0)
    assert "Broken pipe" in err
    assert "15 were never sent" in err
