"""The process that tells the far host's time, `tg-clock`: it answers each byte with the time.

It takes a `ClockOrder`, answers its port, accepts one connection whose first bytes are the client's
token, and answers each byte with CLOCK_MONOTONIC in ns, a little-endian u64.
"""

from __future__ import annotations

import socket
import struct
import time

from tinygram_bench.host.network.connections import Known, Listener
from tinygram_bench.model.value import Value
from tinygram_bench.processes.orders import Orders, carry_out

TIME = struct.Struct("<Q")


class ClockOrder(Value, frozen=True):
    """The order for the clock: the address to listen on, and how its client is known."""

    host: str = "127.0.0.1"
    client: Known = Known()


def main() -> int:
    return carry_out("tg-clock", ClockOrder, _tell_time)


def _tell_time(order: ClockOrder, orders: Orders) -> None:
    with Listener(order.host, order.client) as listener:
        orders.announce(listener.port)
        sock, _ = listener.accept_known()
    with sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while sock.recv(1):
            sock.sendall(TIME.pack(time.monotonic_ns()))
