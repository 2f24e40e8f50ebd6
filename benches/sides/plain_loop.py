"""Sends flat out in a plain loop: `python -m sides.plain_loop WAY PORT COUNT`; prints its start."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterable

import tinygram
from sides.sending import messages, stay_on_core, warmed_up

_HOLD_NS = 10_000
_MAX_BATCH_BYTES = 64 << 10


def main() -> None:
    way, port, count = sys.argv[1:]
    stay_on_core()
    sock = warmed_up(int(port))
    what = messages(int(count))
    start_ns = time.monotonic_ns()
    WAYS[way](sock, what)
    sock.close()
    print(start_ns)


def _join(sock: socket.socket, what: Iterable[bytes]) -> None:
    """By hand: a list, sent as one after 10 µs or 64 KiB."""
    batch: list[bytes] = []
    batch_bytes = 0
    deadline_ns = 0
    for message in what:
        if not batch:
            deadline_ns = time.monotonic_ns() + _HOLD_NS
        batch.append(message)
        batch_bytes += len(message)
        if batch_bytes >= _MAX_BATCH_BYTES or time.monotonic_ns() >= deadline_ns:
            sock.sendall(b"".join(batch))
            batch.clear()
            batch_bytes = 0
    sock.sendall(b"".join(batch))


def _tinygram(sock: socket.socket, what: Iterable[bytes]) -> None:
    with tinygram.batch(sock) as out:
        for message in what:
            out.send(message)


WAYS: dict[str, Callable[[socket.socket, Iterable[bytes]], None]] = {
    "join": _join,
    "tinygram": _tinygram,
}

if __name__ == "__main__":
    main()
