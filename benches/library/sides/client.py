"""Asks a server, from the other core: `python -m library.sides.client PORT REQUESTS`.

Plain blocking sockets: 64 requests in one write on each of eight connections, then their replies,
connection by connection, so that the server always has work while the client waits. Every byte of
the replies is compared. Prints the nanoseconds per request. That it is not the bottleneck,
`plain_server.py` shows.
"""

from __future__ import annotations

import socket
import sys
import time

from library.sides.sending import MESSAGE_BYTES, PER_ITERATION, REPLY, connected, stay_on_far_core

_CONNECTIONS = 8
_WARM_UP_TURNS = 50
_REQUESTS = b"q" * MESSAGE_BYTES * PER_ITERATION
_REPLIES = REPLY * PER_ITERATION


def main() -> None:
    port, requests = map(int, sys.argv[1:])
    stay_on_far_core()
    socks = [connected(port) for _ in range(_CONNECTIONS)]
    turns = requests // (PER_ITERATION * _CONNECTIONS)
    _ask(socks, _WARM_UP_TURNS)
    start_ns = time.monotonic_ns()
    _ask(socks, turns)
    took_ns = time.monotonic_ns() - start_ns
    for sock in socks:
        _check_end(sock)
    print(took_ns / (turns * PER_ITERATION * _CONNECTIONS))


def _ask(socks: list[socket.socket], turns: int) -> None:
    replies = bytearray(len(_REPLIES))
    for sock in socks:
        sock.sendall(_REQUESTS)
    for turn in range(turns):
        for sock in socks:
            read_bytes = sock.recv_into(replies, len(replies), socket.MSG_WAITALL)
            if read_bytes != len(_REPLIES) or replies != _REPLIES:
                raise SystemExit(f"{read_bytes} bytes are not the {PER_ITERATION} replies")
            if turn < turns - 1:
                sock.sendall(_REQUESTS)


def _check_end(sock: socket.socket) -> None:
    sock.shutdown(socket.SHUT_WR)
    if sock.recv(1):
        raise SystemExit("more came than the replies")


if __name__ == "__main__":
    main()
