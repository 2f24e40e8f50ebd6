"""Many threads on one connection: whole messages, in each thread's order, each byte once."""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.library.wires import (
    LONGEST_S,
    STALLED,
    Pair,
    receive_all,
    receive_exactly,
    reset,
    tcp_pair,
    unacknowledged_bytes,
    wait_until,
    waiting_bytes,
)

import tinygram
from tinygram import CoalescingSocket, ConnectionFailedError, DeliveryTimeoutError

STRATEGIES = {
    str(strategy): strategy
    for strategy in (
        tinygram.nodelay,
        tinygram.nagle,
        tinygram.combine,
        tinygram.coalesce(200),
        tinygram.competitive(200),
        tinygram.adaptive,
    )
}
LONG = tinygram.coalesce(3_600_000_000)


@pytest.fixture(params=STRATEGIES.values(), ids=str)
def strategy(request: pytest.FixtureRequest) -> tinygram.Strategy:
    made: tinygram.Strategy = request.param
    return made


def in_threads(count: int, act: Callable[[int], None]) -> None:
    """Run it in so many threads; what one raises is raised."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            act(number)
        except BaseException as failure:
            failures.append(failure)
            raise

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=2 * LONGEST_S)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


def test_every_byte_once_and_each_thread_s_in_order(
    pair: Pair, strategy: tinygram.Strategy
) -> None:
    ours, peer = pair
    messages = 3_000
    received = bytearray()

    def read() -> None:
        while chunk := peer.recv(4099):
            received.extend(chunk)

    reading = threading.Thread(target=read)
    reading.start()
    with CoalescingSocket(ours, strategy=strategy, max_buffered_bytes=30_000) as sock:

        def send(number: int) -> None:
            for index in range(messages):
                sock.send(b"<%d %d %s>" % (number, index, b"x" * (index % 50)))

        in_threads(8, send)
    reading.join(timeout=LONGEST_S)
    assert sock.stats().messages == 8 * messages
    assert sock.stats().bytes == len(received)
    next_index = [0] * 8
    for frame in bytes(received).removeprefix(b"<").removesuffix(b">").split(b"><"):
        number, index, *rest = frame.split(b" ")
        assert int(index) == next_index[int(number)]
        assert rest == [b"x" * (int(index) % 50)]
        next_index[int(number)] += 1
    assert next_index == [messages] * 8


def test_send_takes_the_whole_message_and_says_so(pair: Pair) -> None:
    ours, peer = pair
    with CoalescingSocket(ours) as sock:
        for data in (b"four", bytearray(b"five "), memoryview(b"memory").cast("H"), b""):
            assert sock.send(data) == memoryview(data).nbytes
        sock.sendall(bytes(STALLED // 4))
        assert receive_exactly(peer, 15) == b"fourfive memory"
        reading = threading.Thread(target=receive_exactly, args=(peer, STALLED // 4))
        reading.start()
        sock.flush(timeout_s=LONGEST_S)
        reading.join(timeout=LONGEST_S)
    assert receive_all(peer) == b""


def test_a_buffer_used_again_after_send(pair: Pair) -> None:
    ours, peer = pair
    with CoalescingSocket(ours, strategy=LONG) as sock:
        buffer = bytearray(b"first ")
        sock.send(buffer)
        buffer[:] = b"second"
        sock.send(buffer)
        buffer.clear()
    assert receive_all(peer) == b"first second"


def test_what_is_held_leaves_at_flush_at_close_and_when_its_hold_ends(pair: Pair) -> None:
    ours, peer = pair
    sock = CoalescingSocket(ours, strategy=LONG)
    sock.send(b"held")
    assert (sock.held_bytes, waiting_bytes(peer)) == (4, 0)
    sock.flush(timeout_s=LONGEST_S)
    assert receive_exactly(peer, 4) == b"held"
    sock.send(b"held again")
    sock.close(timeout_s=LONGEST_S)
    assert receive_all(peer) == b"held again"
    assert sock.stats().flushes["asked"] == 2


def test_a_closed_socket_takes_nothing(pair: Pair) -> None:
    ours, _ = pair
    sock = CoalescingSocket(ours)
    assert sock.fileno() == ours.fileno()
    sock.close(timeout_s=LONGEST_S)
    assert sock.fileno() == -1
    with pytest.raises(OSError, match="closed") as caught:
        sock.send(b"late")
    assert caught.value.errno == errno.EBADF
    sock.close()


def test_a_stalled_peer_makes_senders_wait_as_long_as_the_socket_says(
    pair: Pair, strategy: tinygram.Strategy
) -> None:
    ours, peer = pair
    sock = CoalescingSocket(ours, strategy=strategy, max_buffered_bytes=50_000)
    sent = 0

    def send_until_refused(timeout_s: float) -> None:
        nonlocal sent
        ours.settimeout(timeout_s)
        while sent < 4 * STALLED:
            sent += sock.send(b"x" * 1000)

    def flush_or_send_on() -> None:
        while True:
            with pytest.raises(TimeoutError, match="timed out"):
                send_until_refused(0.05)
            assert sock.held_bytes <= 50_000
            # Longer than TCP takes to look again at a peer that had no room.
            sock.flush(timeout_s=0.5)

    with pytest.raises(DeliveryTimeoutError, match="not sent") as late:
        flush_or_send_on()
    assert 0 < late.value.unsent_bytes <= 50_000
    with pytest.raises(BlockingIOError, match="max_buffered_bytes") as refused:
        send_until_refused(0)
    assert refused.value.errno == errno.EAGAIN
    reading = threading.Thread(target=receive_exactly, args=(peer, sent))
    reading.start()
    sock.close(timeout_s=LONGEST_S)
    reading.join(timeout=LONGEST_S)
    assert receive_all(peer) == b""


def test_close_gives_up_in_time_and_says_what_is_missing(tcp: Pair) -> None:
    ours, peer = tcp
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock = CoalescingSocket(ours, strategy=tinygram.combine)
    sock.send(bytes(4 * STALLED))
    # More than a peer that reads nothing takes: the writing thread has come, and is stuck.
    wait_until(lambda: unacknowledged_bytes(ours) > 200_000, "nothing was written")
    start_s = time.monotonic()
    with pytest.raises(DeliveryTimeoutError) as late:
        sock.close(timeout_s=0.1)
    # The socket's own timeout, which close does not follow, is a minute.
    assert time.monotonic() - start_s < 30
    assert late.value.unsent_bytes > 0
    assert late.value.unknown_bytes > 0
    assert sock.fileno() == -1


def test_a_reset_in_the_middle_is_told_with_what_it_cost(
    tcp: Pair, strategy: tinygram.Strategy
) -> None:
    ours, peer = tcp
    sock = CoalescingSocket(ours, strategy=strategy)
    sock.send(b"arrives")
    sock.flush(timeout_s=LONGEST_S)
    assert receive_exactly(peer, 7) == b"arrives"
    wait_until(lambda: unacknowledged_bytes(ours) == 0, "the peer has it, and does not say so")
    reset(peer)

    def send_until_told() -> None:
        give_up_s = time.monotonic() + LONGEST_S
        while time.monotonic() < give_up_s:
            sock.send(b"lost")
            time.sleep(0.001)

    with pytest.raises(ConnectionFailedError) as caught:
        send_until_told()
    failure = caught.value
    assert failure.errno in (errno.ECONNRESET, errno.EPIPE)
    assert failure.acknowledged_bytes == 7
    sent = 4 * (sock.stats().messages - 1) + 7
    assert failure.acknowledged_bytes + failure.unknown_bytes + failure.unsent_bytes in (
        sent,
        sent + 4,
    )
    for call in (lambda: sock.send(b"more"), sock.flush, sock.close):
        with pytest.raises(ConnectionFailedError) as again:
            call()
        assert str(again.value) == str(failure)
    assert sock.fileno() == -1


def test_a_failure_reaches_those_who_wait(tcp: Pair) -> None:
    ours, peer = tcp
    sock = CoalescingSocket(ours, strategy=tinygram.combine, max_buffered_bytes=10_000)
    raised: list[BaseException] = []

    def fill() -> None:
        try:
            while True:
                sock.send(b"x" * 1000)
        except ConnectionFailedError as failure:
            raised.append(failure)

    threads = [threading.Thread(target=fill, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: sock.held_bytes > 9_000, "the peer takes everything")
    time.sleep(0.05)
    reset(peer)
    for thread in threads:
        thread.join(timeout=LONGEST_S)
    assert len(raised) == 4


def test_both_sides_only_write(tcp: Pair, strategy: tinygram.Strategy) -> None:
    """go-redis #4002: neither reads before it has written; memory is bounded, nobody is stuck."""
    bound = 100_000
    total = 4 * STALLED
    ends = [CoalescingSocket(end, strategy=strategy, max_buffered_bytes=bound) for end in tcp]
    received = [0, 0]
    both_stalled = threading.Barrier(2)

    def read(number: int) -> None:
        while select.select([tcp[number]], [], [], LONGEST_S)[0] and received[number] < total:
            received[number] += len(tcp[number].recv(1 << 16))
            if received[number] == total:
                return

    def act(number: int) -> None:
        if number < 2:
            for _ in range(total // 1024):
                ends[number].send(bytes(1024))
                assert ends[number].held_bytes <= bound
        else:
            wait_until(lambda: ends[number - 2].held_bytes > bound // 2, "it never stalled")
            both_stalled.wait(timeout=LONGEST_S)
            read(number - 2)

    in_threads(4, act)
    assert received == [total] * 2


def test_the_caller_s_socket_may_be_closed_under_it() -> None:
    """The descriptor is ours: its number cannot become another file's."""
    ours, peer = tcp_pair()
    sock = CoalescingSocket(ours, strategy=tinygram.coalesce(2_000))
    sock.send(b"before")
    ours.close()
    others = [socket.socketpair() for _ in range(4)]
    sock.send(b" and after")
    assert receive_exactly(peer, 16) == b"before and after"
    assert [waiting_bytes(end) for two in others for end in two] == [0] * 8
    sock.close(timeout_s=LONGEST_S)
    assert receive_all(peer) == b""


def test_a_socket_that_nobody_has_any_more_sends_what_it_held(pair: Pair) -> None:
    ours, peer = pair
    sock = CoalescingSocket(ours, strategy=tinygram.coalesce(5_000))
    sock.send(b"the last byte")
    del sock
    ours.close()
    assert receive_all(peer) == b"the last byte"


def test_an_idle_connection_costs_no_thread(pair: Pair) -> None:
    ours, peer = pair
    before = set(os.listdir("/proc/self/task"))  # One that was joined may still go.
    with CoalescingSocket(ours, strategy=tinygram.nodelay) as sock:
        sock.send(b"one write")
        assert set(os.listdir("/proc/self/task")) <= before
        assert receive_exactly(peer, 9) == b"one write"


@pytest.mark.parametrize(
    ("knobs", "error", "words"),
    [
        ({"strategy": tinygram.tick}, ValueError, "combine"),
        ({"strategy": "adaptive"}, TypeError, "tinygram.adaptive"),
        ({"max_buffered_bytes": 0}, ValueError, "max_buffered_bytes is 0"),
        ({"max_hold_us": -1}, ValueError, "max_hold_us is -1"),
    ],
)
def test_wrong_knobs(
    pair: Pair, knobs: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        CoalescingSocket(pair[0], **knobs)  # type: ignore[arg-type]


def test_wrong_sockets_and_data(pair: Pair) -> None:
    with socket.socket() as unconnected, pytest.raises(ValueError, match="not connected"):
        CoalescingSocket(unconnected)
    with (
        socket.socket(type=socket.SOCK_DGRAM) as datagrams,
        pytest.raises(ValueError, match="DGRAM"),
    ):
        CoalescingSocket(datagrams)
    with pytest.raises(TypeError, match="not a socket"):
        CoalescingSocket(3)  # type: ignore[arg-type]
    with CoalescingSocket(pair[0]) as sock, pytest.raises(TypeError, match="bytes-like"):
        sock.send("text")  # type: ignore[arg-type]


def test_the_writing_thread_s_wakes_preempt_nobody(pair: Pair) -> None:
    """Each would end the sender's turn on its core, for a batch that is not full yet."""
    ours, _ = pair
    with CoalescingSocket(ours, strategy=tinygram.combine) as sock:
        sock.send(b"message")
        sock.flush(timeout_s=LONGEST_S)
        # Senders of an earlier test may have started two at once; then one of them sleeps for ever.
        wait_until(lambda: writers_policies() == {os.SCHED_BATCH}, "a writer is not SCHED_BATCH")
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


def writers_policies() -> set[int]:
    """How the kernel schedules the writing threads of this process."""
    policies = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # One that ends meanwhile is none.
            if (task / "comm").read_text() == "tinygram-writer\n":
                policies.add(os.sched_getscheduler(int(task.name)))
    return policies
