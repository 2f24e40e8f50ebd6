"""Sends flat out in a plain loop: `python -m library.sides.plain_loop WAY PORT COUNT`.

Prints its start.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterable

from joining import MAX_BATCH_BYTES, join_in_loop
from library.sides.sending import stay_on_core, stream_messages, warmed_up

import tinygram

_LONG_HOLD_NS = 100_000  # The longest hold of our adaptive strategy.
_CLOCK_EVERY = 16


def main() -> None:
    way, port, count = sys.argv[1:]
    stay_on_core()
    messages = stream_messages(int(count))
    sock = warmed_up(int(port))
    start_ns = time.monotonic_ns()
    WAYS[way](sock, messages)
    sock.close()
    print(start_ns)


def _join_100us(sock: socket.socket, messages: Iterable[bytes]) -> None:
    """By hand with care: like `join_in_loop` after 100 µs, looking only at every 16th message."""
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


def _tinygram(sock: socket.socket, messages: Iterable[bytes]) -> None:
    with tinygram.batch(sock) as out:
        for message in messages:
            out.send(message)


def _tinygram_10us(sock: socket.socket, messages: Iterable[bytes]) -> None:
    with tinygram.batch(sock, strategy=tinygram.coalesce(10)) as out:
        for message in messages:
            out.send(message)


WAYS: dict[str, Callable[[socket.socket, Iterable[bytes]], None]] = {
    "join-10us": join_in_loop,
    "join-100us": _join_100us,
    "tinygram": _tinygram,
    "tinygram-10us": _tinygram_10us,
}

if __name__ == "__main__":
    main()
