"""What the sides share: their core, their loop, their connection, their messages."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, cycle, islice

import tinygram
from tinygram_bench._native import MessagePool
from tinygram_bench.host.placement import placement

SEED = 1
MESSAGE_BYTES = 100
PER_ITERATION = 64
WARM_UP = 1024
CONGESTION_CONTROL = "cubic"  # BBR would pace, at a rate that it has not measured yet.
REPLY = b"r" * MESSAGE_BYTES
_SETTLE_S = 0.2


def stay_on_core() -> None:
    """Keep this process, with every thread that it will have, on the sender's core."""
    _stay_on(placement("apart").sender_cpu)


def stay_on_far_core(ends: str = "apart") -> None:
    """The same for the other end: another core, or the sender's where the ends are `same`."""
    _stay_on(placement(ends).receiver_cpu)


def _stay_on(cpu: int | None) -> None:
    assert cpu is not None
    os.sched_setaffinity(0, {cpu})


def new_loop(
    name: str, is_ours: bool, strategy: tinygram.Strategy = tinygram.adaptive
) -> asyncio.AbstractEventLoop:
    """Asyncio's own loop or uvloop's, as it is or as tinygram's drop-in over it."""
    base: type[asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop
    if name == "uvloop":
        base = import_module("uvloop").Loop
    return tinygram.new_event_loop(base, strategy=strategy) if is_ours else base()


def listening() -> socket.socket:
    """A listening socket, whose port is printed; clients use the same options."""
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL.encode())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print("listening", sock.getsockname()[1], flush=True)
    return sock


def connected(port: int) -> socket.socket:
    """A connection without Nagle's algorithm, whoever sends on it."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL.encode())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def warmed_up(port: int) -> socket.socket:
    """A connection that has carried the stream's first messages."""
    sock = connected(port)
    for message in _pool()[:WARM_UP]:
        sock.sendall(message)
    settle()
    return sock


def settle() -> None:
    """Let the other side take what was sent, and leave the collector nothing to do."""
    time.sleep(_SETTLE_S)
    gc.collect()
    gc.freeze()


def stream_bursts(count: int, first: int = WARM_UP) -> Iterator[list[bytes]]:
    """Messages `first` … `first + count` − 1 of the stream, 64 at a time, made beforehand."""
    pool = _pool()
    made = [pool[start : start + PER_ITERATION] for start in range(0, len(pool), PER_ITERATION)]
    start, stop = first // PER_ITERATION, (first + count) // PER_ITERATION
    return islice(cycle(made), start, stop)


def stream_messages(count: int) -> Iterator[bytes]:
    """The same one by one."""
    return chain.from_iterable(stream_bursts(count))


def schedule(count: int) -> tuple[float, str, int, int, int]:
    """A pacer's arguments: so many messages, one every millisecond."""
    return 1_000.0, "constant", 1, count * 1_000_000, SEED


def _pool() -> list[bytes]:
    return MessagePool(SEED, MESSAGE_BYTES, MESSAGE_BYTES).messages()
