"""What the sides share: their core, their loop, their connection, their messages."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain, cycle, islice
from pathlib import Path

import tinygram
from tinygram import new_event_loop
from tinygram_bench._native import MessagePool, tcp_info
from tinygram_bench.host.placement import placement

SEED = 1
MESSAGE_BYTES = 100
PER_ITERATION = 64
WARM_UP = 1024
CONGESTION_CONTROL = "cubic"  # BBR would pace, at a rate that it has not measured yet.
REPLY = b"r" * MESSAGE_BYTES
OLDER = "older-uvloop"
_STEP_S = 0.0002
_ARRIVAL_LIMIT_S = 10.0


def stay_on_core() -> None:
    """Keep this process, with every thread that it will have, on the sender's core."""
    _stay_on(placement("apart").sender_cpu)


def stay_on_far_core() -> None:
    """The same for the other end: another core."""
    _stay_on(placement("apart").receiver_cpu)


def _stay_on(cpu: int | None) -> None:
    assert cpu is not None
    os.sched_setaffinity(0, {cpu})


def new_loop(
    name: str, is_ours: bool, strategy: tinygram.Strategy = tinygram.adaptive
) -> asyncio.AbstractEventLoop:
    """Asyncio's own loop or uvloop's, as it is or as tinygram's drop-in over it.

    `older-uvloop` is the one that `library.ends` has put in front of the other.
    """
    base: type[asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop
    if name != "asyncio":
        base = import_module("uvloop").Loop
    if name == OLDER:
        assert import_module("uvloop").__version__ == older_version()
    return new_event_loop(base, strategy=strategy) if is_ours else base()


def older_version() -> str:
    """The version of the older uvloop; Makefile installs it."""
    required = (Path(__file__).parents[1] / f"{OLDER}.txt").read_text()
    return required.partition("==")[2].strip()


def listening() -> socket.socket:
    """A listening socket; clients use the same options."""
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL.encode())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def connected(port: int) -> socket.socket:
    """A connection without Nagle's algorithm, whoever sends on it."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL.encode())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def settle() -> None:
    """Have the garbage collector ignore all objects that were made so far."""
    gc.collect()
    gc.freeze()


@cache
def message_pool() -> MessagePool:
    """The messages that the stream repeats."""
    return MessagePool(SEED, MESSAGE_BYTES, MESSAGE_BYTES)


class Messages:
    """The stream's messages in their order, without end, 64 at a time, made beforehand."""

    def __init__(self) -> None:
        pool = message_pool().messages()
        made = [pool[start : start + PER_ITERATION] for start in range(0, len(pool), PER_ITERATION)]
        self._bursts = cycle(made)
        self._messages = chain.from_iterable(self._bursts)
        self.taken = 0
        """How many of the stream's messages have been taken."""

    def bursts(self, count: int) -> Iterator[list[bytes]]:
        """The next messages, 64 at a time; `count` is a multiple of 64."""
        self.taken += count
        return islice(self._bursts, count // PER_ITERATION)

    def one_by_one(self, count: int) -> Iterator[bytes]:
        """The next messages, one by one; a side that takes these takes no bursts."""
        self.taken += count
        return islice(self._messages, count)


class Stream:
    """A stream's messages and its connection, which has carried the first ones."""

    def __init__(self, port: int) -> None:
        self.sock = connected(port)
        # A second descriptor, because a side may hand the socket over to its event loop.
        self._probe = self.sock.dup()
        self._before_bytes = self._acknowledged_bytes()
        self.messages = Messages()
        for message in self.messages.one_by_one(WARM_UP):
            self.sock.sendall(message)
        self.wait_arrived()
        settle()

    def wait_arrived(self) -> None:
        """Sleep until all that was taken has been sent and acknowledged. Raises TimeoutError."""
        give_up_s = time.monotonic() + _ARRIVAL_LIMIT_S
        while not self._has_arrived(give_up_s):
            time.sleep(_STEP_S)

    async def wait_arrived_meanwhile(self) -> None:
        """The same on an event loop, which sends what is held meanwhile."""
        give_up_s = time.monotonic() + _ARRIVAL_LIMIT_S
        while not self._has_arrived(give_up_s):
            await asyncio.sleep(_STEP_S)

    def end(self) -> None:
        """Tell the far end that nothing more comes; all has arrived."""
        self._probe.shutdown(socket.SHUT_WR)

    def _has_arrived(self, give_up_s: float) -> bool:
        missing_bytes = (
            self.messages.taken * MESSAGE_BYTES + self._before_bytes - self._acknowledged_bytes()
        )
        if missing_bytes and time.monotonic() > give_up_s:
            raise TimeoutError(f"{missing_bytes} bytes did not arrive in {_ARRIVAL_LIMIT_S:g} s")
        return not missing_bytes

    def _acknowledged_bytes(self) -> int:
        return dict(tcp_info(self._probe.fileno()))["acknowledged_bytes"]


def schedule(count: int) -> tuple[float, str, int, int, int]:
    """A pacer's arguments: so many messages, one every millisecond."""
    return 1_000.0, "constant", 1, count * 1_000_000, SEED
