"""How the two ends of a stream meet: the far end listens, and the near end connects to it.

So in either direction, a firewall between them need only admit connections from the near host, and
`tinygram serve` makes none (decision 0042).
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from msgspec import Struct

from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.host.network.connections import (
    Listener,
    introduce,
    received_whole,
    unconnected_socket,
)
from tinygram_bench.workloads.stream.order import Order, ReceiverOrder

NUMBER_BYTES = 4
"""The length of a connection's number (crates/load, stream/numbers.rs)."""
_NUMBER_LIMIT_S = 10.0


class Met(Struct, frozen=True):
    """All connections of a stream in the order of their numbers, and counters of the meeting."""

    sockets: list[socket.socket]
    counters: dict[str, int]


def met(order: Order | ReceiverOrder, announce: Callable[[int], None]) -> Met:
    """Connect to the other end, or listen, `announce` the port, and accept. Raises OSError."""
    if order.connections > 1:
        raise_descriptor_limit()
    return _accepted(order, announce) if order.listens else _connected(order)


def _connected(order: Order | ReceiverOrder) -> Met:
    """Connect; each of many connections begins with its number, as any may be accepted first."""
    sockets, all_ns = [], 0
    for number in range(order.connections):
        sock = unconnected_socket(order.host, order.congestion_control, order.client.host)
        start_ns = time.monotonic_ns()
        sock.connect((order.host, order.port))
        all_ns += time.monotonic_ns() - start_ns
        introduce(sock, order.client.token)
        if order.connections > 1:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(number.to_bytes(NUMBER_BYTES, "little"))
        sockets.append(sock)
    return Met(sockets, {"connect_ns": all_ns // order.connections})


def _accepted(order: Order | ReceiverOrder, announce: Callable[[int], None]) -> Met:
    """Accept all connections of the stream; strangers are turned away, and counted."""
    found: dict[int, socket.socket] = {}
    with Listener(order.host, order.client, order.congestion_control) as listener:
        announce(listener.port)
        while len(found) < order.connections:
            sock, _ = listener.accept_known()
            number = 0 if order.connections == 1 else number_of(sock)
            if number in found or number >= order.connections:
                raise OSError(f"a connection came with number {number}, which is not free")
            found[number] = sock
    return Met([found[number] for number in sorted(found)], {"strangers": listener.strangers})


def connecting_port(order: Order | ReceiverOrder, sock: socket.socket) -> int:
    """The port by which both ends know a connection: that of the end that connected."""
    address = sock.getpeername() if order.listens else sock.getsockname()
    return int(address[1])


def number_of(sock: socket.socket) -> int:
    """Read the number that a connection brings, and nothing after it. Raises OSError."""
    number = received_whole(sock, NUMBER_BYTES, _NUMBER_LIMIT_S)
    if len(number) < NUMBER_BYTES:
        raise OSError("a connection brought no number")
    sock.settimeout(None)
    return int.from_bytes(number, "little")
