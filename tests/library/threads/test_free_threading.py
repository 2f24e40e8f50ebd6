"""What needs no GIL: on an interpreter without one these run in parallel (`make free-threaded`)."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable

from tests.library.wires import LONGEST_S, receive_all, tcp_pair

import tinygram
from tinygram import CoalescingSocket

THREADS = 8
MESSAGES = 4_000


def together(act: Callable[[int], None]) -> None:
    """Run it in all threads, which begin at one time; what one raises is raised."""
    begin = threading.Barrier(THREADS)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            begin.wait(timeout=LONGEST_S)
            act(number)
        except BaseException as failure:
            failures.append(failure)
            raise

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=2 * LONGEST_S)
        assert not thread.is_alive()
    assert failures == []


def check_frames(received: bytes) -> None:
    """Every thread's messages, each whole, once and in order."""
    next_index = [0] * THREADS
    for frame in received.removesuffix(b";").split(b";"):
        number, index = map(int, frame.split(b","))
        assert index == next_index[number]
        next_index[number] += 1
    assert next_index == [MESSAGES] * THREADS


def test_the_import_leaves_the_gil_as_it_is() -> None:
    """A module that needs the GIL turns it on, with a warning."""
    has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    script = "import sys, tinygram; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (told.stdout.strip(), told.stderr) == (str(has_gil), "")


def test_a_batch_that_threads_share_loses_nothing() -> None:
    """It is meant for one thread; two are no reason to lose, mix or repeat bytes."""
    ours, peer = tcp_pair()
    received: list[bytes] = []
    reading = threading.Thread(target=lambda: received.append(receive_all(peer)))
    reading.start()
    with ours, tinygram.batch(ours, strategy=tinygram.coalesce(100)) as batch:

        def send(number: int) -> None:
            for index in range(MESSAGES):
                batch.send(b"%d,%d;" % (number, index))
                if index % 100 == 0:
                    batch.flush()
                    assert batch.stats().messages <= THREADS * MESSAGES

        together(send)
        batch.flush()
        assert batch.stats().messages == THREADS * MESSAGES
    reading.join(timeout=LONGEST_S)
    check_frames(received[0])


def test_everything_of_a_socket_at_the_same_time() -> None:
    """Senders, flushes and those who look, each of many threads."""
    ours, peer = tcp_pair()
    received: list[bytes] = []
    reading = threading.Thread(target=lambda: received.append(receive_all(peer)))
    reading.start()
    with ours, CoalescingSocket(ours, max_buffered_bytes=20_000) as sock:

        def send(number: int) -> None:
            for index in range(MESSAGES):
                sock.send(b"%d,%d;" % (number, index))
                if index % 200 == number:
                    sock.flush(timeout_s=LONGEST_S)
                    assert sock.held_bytes <= 20_000
                    assert sock.stats().messages <= THREADS * MESSAGES

        together(send)
    reading.join(timeout=LONGEST_S)
    check_frames(received[0])


def test_a_buffer_that_another_thread_fills_anew() -> None:
    """What is not exactly `bytes` is copied first. (Its length is not changed here: that other
    threads do so while it is copied is CPython's own crash on 3.13t.)"""
    ours, peer = tcp_pair()
    received: list[bytes] = []
    reading = threading.Thread(target=lambda: received.append(receive_all(peer)))
    reading.start()
    buffer = bytearray(100)
    with ours, CoalescingSocket(ours) as sock:

        def act(number: int) -> None:
            for index in range(MESSAGES):
                if number % 2:
                    assert sock.send(buffer) == 100
                else:
                    buffer[index % 100] = number

        together(act)
    reading.join(timeout=LONGEST_S)
    assert sock.stats().bytes == len(received[0]) == THREADS // 2 * MESSAGES * 100
    assert set(received[0]) <= set(range(0, THREADS, 2))
