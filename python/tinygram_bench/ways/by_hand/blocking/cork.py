"""TCP_CORK: a write per message, and the kernel holds back what fills no segment."""

from __future__ import annotations

import socket

from tinygram_bench.loads.source import Bursts
from tinygram_bench.ways.runtimes import Way


def send(sock: socket.socket, bursts: Bursts, way: Way) -> None:
    """Strategy `cork`: cork around each burst; flat out, around the whole stream."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if way.is_flat_out:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    while (burst := bursts.next_burst()) is not None:
        if not way.is_flat_out:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        for message in burst:
            sock.sendall(message)
        if not way.is_flat_out:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
