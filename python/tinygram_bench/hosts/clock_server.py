"""The process that tells the far host's time, `tg-clock`: a byte comes, and the time goes back.

It takes a `ClockOrder`, answers where it listens, accepts one connection whose first bytes are the
client's token, and answers each byte with CLOCK_MONOTONIC in ns, a little-endian u64.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

from tinygram_bench import _native
from tinygram_bench.host.network.connections import Known, tcp_socket
from tinygram_bench.model.value import Value
from tinygram_bench.processes.orders import Orders, carry_out

_BACKLOG = 4_096
"""Others may have brought nothing yet, and take no place that the client needs."""
TIME = struct.Struct("<Q")


class ClockOrder(Value, frozen=True):
    """The order for the clock: where it listens, and by what its client is known."""

    host: str = "127.0.0.1"
    client: Known = Known()


def main() -> int:
    return carry_out("tg-clock", ClockOrder, _tell_time)


def _tell_time(order: ClockOrder, orders: Orders) -> None:
    client = order.client.admission
    with tcp_socket(order.host) as listener:
        client.guard(listener.fileno())
        listener.bind((order.host, 0))
        listener.listen(_BACKLOG)
        orders.announce(listener.getsockname()[1])
        sock = _accepted(listener, client)
    with sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while sock.recv(1):
            sock.sendall(TIME.pack(time.monotonic_ns()))


def _accepted(listener: socket.socket, client: _native.Admission) -> socket.socket:
    """The client's connection."""
    while True:
        sock, peer = listener.accept()
        if client.admit(sock.fileno(), peer[0]):
            return sock
        sock.close()


if __name__ == "__main__":
    sys.exit(main())
