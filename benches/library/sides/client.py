"""Asks a server, from the other core: `client`.

Plain blocking sockets: 64 requests in one write on each of eight connections, then their replies,
connection by connection, so that the server always has work while the client waits. Every byte of
the replies is compared. What a turn costs is the time per request, while all connections have
requests to be answered. That the client is not the bottleneck, `plain_server.py` shows.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Sequence

from library.baton import Role, Took, run_side, settling, turns
from library.sides.sending import MESSAGE_BYTES, PER_ITERATION, REPLY, connected, settle

from tinygram_bench.processes.orders import Orders

CONNECTIONS = 8
REQUESTS = PER_ITERATION * CONNECTIONS
"""Requests under way at a time; a turn has a multiple of them."""
_REQUESTS = b"q" * MESSAGE_BYTES * PER_ITERATION
_REPLIES = REPLY * PER_ITERATION


def main() -> int:
    return run_side(_take_turns)


def _take_turns(role: Role, orders: Orders) -> None:
    socks = [connected(role.port) for _ in range(CONNECTIONS)]
    settle()
    for count in turns(orders):
        times_ns = _ask(socks, count // REQUESTS)
        measured_ns = times_ns[settling(len(times_ns)) :]
        took_ns = measured_ns[-1] - measured_ns[0]
        cost_ns = took_ns / max(1, len(measured_ns) - 1) / REQUESTS
        orders.say(Took(times_ns[0], times_ns[-1] - times_ns[0], cost_ns))
    for sock in socks:
        _check_end(sock)


def _ask(socks: Sequence[socket.socket], passes: int) -> list[int]:
    """Ask so many times on each connection; when the replies to each were first waited for, ns."""
    times_ns = []
    replies = bytearray(len(_REPLIES))
    for sock in socks:
        sock.sendall(_REQUESTS)
    for number in range(passes):
        times_ns.append(time.monotonic_ns())
        for sock in socks:
            read_bytes = sock.recv_into(replies, len(replies), socket.MSG_WAITALL)
            if read_bytes != len(_REPLIES) or replies != _REPLIES:
                raise OSError(f"{read_bytes} bytes are not the {PER_ITERATION} replies")
            if number < passes - 1:
                sock.sendall(_REQUESTS)
    return times_ns


def _check_end(sock: socket.socket) -> None:
    sock.shutdown(socket.SHUT_WR)
    if sock.recv(1):
        raise OSError("more came than the replies")


if __name__ == "__main__":
    sys.exit(main())
