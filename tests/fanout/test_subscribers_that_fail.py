"""A subscriber that stalls or is gone ends the run, is named, and costs bounded memory."""

from __future__ import annotations

import resource
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tinygram_bench import _native
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.children import Child, answers
from tinygram_bench.processes.orders import Ready
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slices import Slices
from tinygram_bench.workloads.fanout.order import Begin, Pace, PublisherOrder, Warm
from tinygram_bench.workloads.fanout.publishing import PUBLISHERS, Publisher

SUBSCRIBERS = 3
BAD = 1
LIMIT_S = 60.0
PATIENCE_NS = 2_000_000_000
"""Longer than a busy host keeps the others from reading."""
BYTES = 1 << 20
RATE_PER_S = 40
"""Few enough that 64 MiB wait for all only when none of them has read for half a second."""
SECONDS = 10
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of 0: close(2) resets the connection."""
MOST_GROWN_BYTES = 320 << 20
"""64 MiB may wait, thrice while a buffer grows, and 3 MiB more with each publication; all that is
published is 1.2 GiB, of which 400 MiB are for one subscriber."""


class Peers:
    """Subscribers in this process, of which one misbehaves once it has its first bytes."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._is_bad = threading.Event()
        self._resets = False
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        for number in range(SUBSCRIBERS):
            sock, _ = self._listener.accept()
            self._sockets.append(sock)
            reading = threading.Thread(target=self._read, args=(sock, number == BAD))
            self._threads.append(reading)
            reading.start()

    def _read(self, sock: socket.socket, is_bad: bool) -> None:
        sock.settimeout(0.05)
        while not (is_bad and self._is_bad.is_set()):
            try:
                if not sock.recv(1 << 20):
                    return
            except TimeoutError:
                continue
            except OSError:
                return
        if self._resets:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            sock.close()

    def go_bad(self, *, resets: bool) -> None:
        """One takes nothing more, or resets its connection."""
        self._resets = resets
        self._is_bad.set()
        self._threads[BAD].join(LIMIT_S)

    def close(self) -> None:
        self._listener.close()
        self._accepting.join(LIMIT_S)
        for sock in self._sockets:
            sock.close()
        for thread in self._threads:
            thread.join(LIMIT_S)


@pytest.fixture
def peers() -> Iterator[Peers]:
    made = Peers()
    yield made
    made.close()


def ways() -> list[Publisher]:
    return [known for known in PUBLISHERS if known.missing() is None]


def named(known: Publisher) -> str:
    return f"{known.runtime}/{known.implementation}/{known.name}"


def failure_of(known: Publisher, peers: Peers, *, resets: bool, is_paced: bool) -> str:
    """What the publisher's process says when one of its subscribers has gone bad."""
    order = PublisherOrder(
        host="127.0.0.1",
        port=peers.port,
        runtime=known.runtime,
        implementation=known.implementation,
        server=known.name,
        strategy=parse_strategy(known.defaults[-1]),
        subscribers=SUBSCRIBERS,
        message_bytes=BYTES,
        seed=1,
        burst=1,
        pace=Pace(RATE_PER_S, "constant", SECONDS * 10**9, 1) if is_paced else None,
        patience_ns=PATIENCE_NS,
        congestion_control="cubic",
    )
    with ExitStack() as stack:
        child = Child(stack, "publisher", "tinygram_bench.workloads.fanout.publisher", None)
        child.tell(order)
        give_up_s = time.monotonic() + LIMIT_S
        answers([child], Warm, give_up_s, "late", [child])
        _let_grow(child.worker.pid, MOST_GROWN_BYTES)
        peers.go_bad(resets=resets)
        slices = Slices((0,), SECONDS * 10**9, 1)
        child.tell(Begin(time.monotonic_ns(), slices, 10**10))
        with pytest.raises(RunError) as raised:
            answers([child], Ready, give_up_s, "late", [child])
    return str(raised.value)


def _let_grow(pid: int, by_bytes: int) -> None:
    """Let the process have so much more memory than it has now, and fail when it asks for more."""
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("VmData"))
    most_bytes = (int(line.split()[1]) << 10) + by_bytes
    resource.prlimit(pid, resource.RLIMIT_DATA, (most_bytes, most_bytes))


@pytest.mark.parametrize("is_paced", [False, True], ids=["flat out", "paced"])
@pytest.mark.parametrize("known", ways(), ids=named)
def test_one_that_takes_nothing_is_named(known: Publisher, peers: Peers, is_paced: bool) -> None:
    told = failure_of(known, peers, resets=False, is_paced=is_paced)
    assert f"subscriber {BAD} does not keep up" in told


@pytest.mark.parametrize("known", ways(), ids=named)
def test_one_that_resets_its_connection_is_named(known: Publisher, peers: Peers) -> None:
    told = failure_of(known, peers, resets=True, is_paced=False)
    assert f"subscriber {BAD} has ended its connection" in told


def test_a_byte_that_is_another_one_fails_the_run_and_names_the_subscriber() -> None:
    publications = _native.Publications(1, 100)
    subscribers = _native.Subscribers(publications, "cubic", "127.0.0.1")
    with ExitStack() as stack:
        for number in range(SUBSCRIBERS):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", subscribers.port)))
            message = bytearray(publications.message(0, 7))
            message[50] ^= number == BAD
            sock.sendall(message)
        with pytest.raises(OSError, match=rf"subscriber {BAD}: publication 0: a byte is not"):
            subscribers.warm_up(SUBSCRIBERS, 1, 10**10)


def test_subscribers_that_never_come_are_counted() -> None:
    subscribers = _native.Subscribers(_native.Publications(1, 100), "cubic", "127.0.0.1")
    with (
        socket.create_connection(("127.0.0.1", subscribers.port)),
        pytest.raises(OSError, match="1 of 3 subscribers were connected in time"),
    ):
        subscribers.warm_up(SUBSCRIBERS, 1, 10**9)
