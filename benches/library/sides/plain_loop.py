"""Sends flat out in a plain loop: `plain_loop WAY`."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from joining import MAX_BATCH_BYTES, join_in_loop
from library.baton import Role, Took, run_side, turns
from library.sides.sending import Stream

import tinygram
from tinygram_bench.processes.orders import Orders

Send = Callable[[Iterable[bytes]], None]

_LONG_HOLD_NS = 100_000
_CLOCK_EVERY = 16


def main() -> int:
    return run_side(_take_turns)


def _take_turns(role: Role, orders: Orders) -> None:
    (way,) = role.words
    stream = Stream(role.port)
    with WAYS[way](stream.sock) as send:
        for count in turns(orders):
            messages = stream.messages.one_by_one(count)
            start_ns = time.monotonic_ns()
            send(messages)
            took_ns = time.monotonic_ns() - start_ns
            stream.wait_arrived()
            orders.say(Took(start_ns, took_ns))
    stream.end()


@contextmanager
def _join_10us(sock: socket.socket) -> Iterator[Send]:
    yield partial(join_in_loop, sock)


@contextmanager
def _join_100us(sock: socket.socket) -> Iterator[Send]:
    yield partial(_join_with_care, sock)


def _join_with_care(sock: socket.socket, messages: Iterable[bytes]) -> None:
    """By hand: like `join_in_loop` after 100 µs, looking only at every 16th message."""
    monotonic_ns = time.monotonic_ns
    batch: list[bytes] = []
    batch_bytes = 0
    deadline_ns = 0
    for message in messages:
        if not batch:
            deadline_ns = monotonic_ns() + _LONG_HOLD_NS
        batch.append(message)
        batch_bytes += len(message)
        if len(batch) % _CLOCK_EVERY:
            continue
        if batch_bytes >= MAX_BATCH_BYTES or monotonic_ns() >= deadline_ns:
            sock.sendall(b"".join(batch))
            batch.clear()
            batch_bytes = 0
    sock.sendall(b"".join(batch))


@contextmanager
def _tinygram(
    sock: socket.socket, strategy: tinygram.Strategy = tinygram.adaptive
) -> Iterator[Send]:
    with tinygram.batch(sock, strategy=strategy) as out:
        yield partial(_send_all, out)


def _send_all(out: tinygram.Batch, messages: Iterable[bytes]) -> None:
    for message in messages:
        out.send(message)
    out.flush()


WAYS: dict[str, Callable[[socket.socket], AbstractContextManager[Send]]] = {
    "join-10us": _join_10us,
    "join-100us": _join_100us,
    "tinygram": _tinygram,
    "tinygram-10us": partial(_tinygram, strategy=tinygram.coalesce(10)),
}

if __name__ == "__main__":
    sys.exit(main())
