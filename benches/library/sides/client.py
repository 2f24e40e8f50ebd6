"""Asks a server, from the other core: `client`, or `client single`.

Plain blocking sockets: 64 requests in one write on each of eight connections, or a single one,
then their replies, connection by connection, so that the server always has work while the client
waits. Every byte of the replies is compared. What a turn costs is the time per request, while all
connections have requests to be answered. That the client is not the bottleneck, `plain_server.py`
shows.
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
"""Requests under way at a time, `single` as many as connections; a turn has a multiple of them."""
_REQUEST = b"q" * MESSAGE_BYTES


def main() -> int:
    return run_side(_take_turns)


def _take_turns(role: Role, orders: Orders) -> None:
    socks = [connected(role.port) for _ in range(CONNECTIONS)]
    settle()
    each = 1 if role.words else PER_ITERATION
    together = each * CONNECTIONS
    for count in turns(orders):
        times_ns = _ask(socks, each, count // together)
        measured_ns = times_ns[settling(len(times_ns)) :]
        took_ns = measured_ns[-1] - measured_ns[0]
        cost_ns = took_ns / max(1, len(measured_ns) - 1) / together
        orders.say(Took(times_ns[0], times_ns[-1] - times_ns[0], cost_ns))
    for sock in socks:
        _check_end(sock)


def _ask(socks: Sequence[socket.socket], each: int, passes: int) -> list[int]:
    """Ask `each` at a time on each connection, `passes` times; when each began to wait, in ns."""
    times_ns = []
    asked, expected = _REQUEST * each, REPLY * each
    replies = bytearray(len(expected))
    for sock in socks:
        sock.sendall(asked)
    for number in range(passes):
        times_ns.append(time.monotonic_ns())
        for sock in socks:
            read_bytes = sock.recv_into(replies, len(replies), socket.MSG_WAITALL)
            if read_bytes != len(expected) or replies != expected:
                raise OSError(f"{read_bytes} bytes are not the replies to {each} requests")
            if number < passes - 1:
                sock.sendall(asked)
    return times_ns


def _check_end(sock: socket.socket) -> None:
    sock.shutdown(socket.SHUT_WR)
    if sock.recv(1):
        raise OSError("more came than the replies")


if __name__ == "__main__":
    sys.exit(main())
