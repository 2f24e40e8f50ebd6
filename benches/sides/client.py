"""Asks a server, from the other core: `python -m sides.client PORT REQUESTS`.

Plain blocking sockets: 64 requests in one write on each of eight connections, then their replies,
connection by connection, so that the server always has work while the client waits. Prints the
nanoseconds per request. That it is not the bottleneck, `plain_server.py` shows.
"""

from __future__ import annotations

import os
import socket
import sys
import time

from sides.sending import MESSAGE_BYTES, PER_ITERATION, connected
from tinygram.bench.placement import placement

_CONNECTIONS = 8
_WARM_UP_TURNS = 50
_REQUESTS = b"q" * MESSAGE_BYTES * PER_ITERATION


def main() -> None:
    port, requests = map(int, sys.argv[1:])
    cpu = placement("apart").receiver_cpu
    assert cpu is not None
    os.sched_setaffinity(0, {cpu})
    socks = [connected(port) for _ in range(_CONNECTIONS)]
    turns = requests // (PER_ITERATION * _CONNECTIONS)
    _ask(socks, _WARM_UP_TURNS)
    start_ns = time.monotonic_ns()
    _ask(socks, turns)
    took_ns = time.monotonic_ns() - start_ns
    print(took_ns / (turns * PER_ITERATION * _CONNECTIONS))


def _ask(socks: list[socket.socket], turns: int) -> None:
    replies = bytearray(len(_REQUESTS))
    for sock in socks:
        sock.sendall(_REQUESTS)
    for turn in range(turns):
        for sock in socks:
            sock.recv_into(replies, len(replies), socket.MSG_WAITALL)
            if turn < turns - 1:
                sock.sendall(_REQUESTS)


if __name__ == "__main__":
    main()
