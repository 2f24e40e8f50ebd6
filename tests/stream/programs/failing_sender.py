"""A runtime that sends on a connection, or from a source, that fails: `RUNTIME STRATEGY FAULT`.

The runtime is by hand, unless another implementation is named behind it: `asyncio/aiofastnet`.
"""

from __future__ import annotations

import ctypes
import select
import socket
import sys
from collections.abc import Callable, Sequence

from tinygram_bench._native import MessagePool
from tinygram_bench.loads.source import Source
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.ways import runtimes

MANY = 5_000
FEW = 3
LARGE = 100_000
"""Bytes of a message; the send buffer is full long before the queue is."""
LONGEST_MS = 30_000

RESETS = (
    "reset before the first of many messages",
    "reset before the first of few messages",
    "reset when the clock starts",
)
RESET_AT_THE_END = "reset after the last message was handed over"
BREAKS = ("source breaks", "source breaks while the sender is blocked")


class BrokenSourceError(Exception):
    """What the broken source raises."""


class FaultySource(Source):
    """Calls `at_end` before it says that there is no more; breaks after `good_bursts`."""

    at_end: Callable[[], None] | None = None
    good_bursts: int | None = None

    def next_flat_out(self) -> Sequence[bytes] | None:
        if self.good_bursts is not None:
            if self.good_bursts == 0:
                raise BrokenSourceError("the source broke")
            self.good_bursts -= 1
        burst = super().next_flat_out()
        if burst is None and self.at_end is not None:
            self.at_end()
        return burst


def attempt(runtime: str, strategy: str, fault: str) -> None:
    """Send; returns when the runtime says that all was handed over."""
    runtime, _, implementation = runtime.partition("/")
    way = runtimes.Way(runtime, parse_strategy(strategy), True)
    count = FEW if "few" in fault or fault == RESET_AT_THE_END else MANY
    size = LARGE if "blocked" in fault else 10
    sock, peer = connection()
    with sock, peer, sock.dup() as watched:

        def at_start() -> None:
            if fault == "reset when the clock starts":
                reset(peer, watched)

        source = FaultySource(MessagePool(1, size, size), 1, count, None, lambda: True, at_start, 1)
        if fault.startswith("reset before"):
            reset(peer, watched)
        elif fault == RESET_AT_THE_END:
            source.at_end = lambda: reset(peer, watched)
        elif fault in BREAKS:
            source.good_bursts = 2
        known = runtimes.runtime(runtime, implementation or "stdlib", way.strategy)
        known.load()(sock, source, way)


def connection() -> tuple[socket.socket, socket.socket]:
    """A sender's socket, and its peer, which reads nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sock = socket.create_connection(server.getsockname())
        return sock, server.accept()[0]


def reset(peer: socket.socket, watched: socket.socket) -> None:
    """Reset the connection, whoever else has a descriptor of it (connect(2), AF_UNSPEC).

    The reset has arrived when this returns: `watched` is the other end, whose error stays for who
    sends next.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(peer.fileno(), bytes(16), 16) != 0:
        raise OSError(ctypes.get_errno(), "the connection was not reset")
    coming = select.poll()
    coming.register(watched, 0)
    if not coming.poll(LONGEST_MS):
        raise AssertionError("the reset has not come")


def main() -> int:
    """Fail as the runtime does."""
    attempt(*sys.argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
