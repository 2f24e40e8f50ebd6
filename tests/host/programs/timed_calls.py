"""Writes, waits and computes as its argument says; prints what the preloaded library timed."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from tinygram_bench import _native
from tinygram_bench.host.probes.calls import call_times, taken_between

WRITES = 20_000
CONTENDED = 2_000
WAITS = 50
"""Starting and joining a thread waits a few times; so often it waits for the lock alone."""
SLEEPS = 100
SLEEP_S = 0.002
_FILLS = 200
_SLOW_READER = "import os, time\nwhile os.read(0, 1 << 16): time.sleep(1e-4)"
_LONGEST_S = 30.0
_SPIN_NS = 100_000
_LARGE = 100_000


def main() -> int:
    near, far = socket.socketpair()
    _native.watch_writes([near.fileno()])
    before, before_cpu_ns = call_times(), time.thread_time_ns()
    own_writes_ns = ACTS[sys.argv[1]](near, far)
    cpu_ns, after = time.thread_time_ns() - before_cpu_ns, call_times()
    counters = taken_between(before, after)
    found = {"counters": counters, "counts": _native.write_counts(), "cpu_ns": cpu_ns}
    print(json.dumps(found if own_writes_ns is None else found | {"own_writes_ns": own_writes_ns}))
    return 0


def write(near: socket.socket, far: socket.socket) -> None:
    for _ in range(WRITES):
        near.send(b"x")
        far.recv(1)


def wait(near: socket.socket, far: socket.socket) -> None:
    for _ in range(WRITES // 10):
        near.send(b"x")
        select.select([far], [], [])
        far.recv(1)


def compute(near: socket.socket, far: socket.socket) -> None:
    for _ in range(500):
        near.send(b"x")
        far.recv(1)
        until_ns = time.thread_time_ns() + _SPIN_NS
        while time.thread_time_ns() < until_ns:
            pass


def split(near: socket.socket, far: socket.socket) -> int:
    """Compute, and write much at a time; the writes' CPU time by the program's own clock."""
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * _LARGE)
    near.setblocking(False)
    message, own_ns = bytes(_LARGE), 0
    for _ in range(500):
        until_ns = time.thread_time_ns() + _SPIN_NS
        while time.thread_time_ns() < until_ns:
            pass
        begin_ns = time.thread_time_ns()
        sent = near.send(message)
        own_ns += time.thread_time_ns() - begin_ns
        assert sent == _LARGE, "there is room for it"
        far.recv(_LARGE, socket.MSG_WAITALL)
    return own_ns


def sleep(near: socket.socket, far: socket.socket) -> None:
    for _ in range(SLEEPS):
        near.send(b"x")
        far.recv(1)
        select.select([], [], [], SLEEP_S)


def fill(near: socket.socket, far: socket.socket) -> None:
    """Writes wait, since the other end reads slowly."""
    with subprocess.Popen([sys.executable, "-c", _SLOW_READER], stdin=far.fileno()) as reader:
        far.close()
        for _ in range(_FILLS):
            near.sendall(bytes(1 << 16))
        near.shutdown(socket.SHUT_WR)
    assert reader.returncode == 0


def contend(near: socket.socket, far: socket.socket) -> None:
    """Each call lets go of the interpreter's lock, and waits for it while another thread has it."""
    sys.setswitchinterval(1e-4)
    is_over = threading.Event()

    def spin() -> None:
        while not is_over.is_set():
            pass

    other = threading.Thread(target=spin)
    other.start()
    before, give_up_s = call_times(), time.monotonic() + _LONGEST_S
    # On a busy machine both threads have one core, and hardly ever want the lock at the same time.
    while time.monotonic() < give_up_s:
        for _ in range(CONTENDED):
            near.send(b"x")
            far.recv(1)
        if (taken_between(before, call_times())["waits"] or 0) > WAITS:
            break
    is_over.set()
    other.join()


def refused(near: socket.socket, _far: socket.socket) -> None:
    near.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            near.send(bytes(1 << 16))
    for _ in range(WRITES):
        with suppress(BlockingIOError):
            near.send(b"x")
            raise AssertionError("there was room")


def fork(near: socket.socket, far: socket.socket) -> None:
    write(near, far)
    child = os.fork()
    if not child:
        write(near, far)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    write(near, far)


ACTS: dict[str, Callable[[socket.socket, socket.socket], int | None]] = {
    act.__name__: act for act in (write, wait, compute, split, sleep, fill, contend, refused, fork)
}

if __name__ == "__main__":
    sys.exit(main())
