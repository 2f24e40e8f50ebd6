"""A write per message, with Nagle's algorithm (RFC 896) or without."""

from __future__ import annotations

import socket

from tinygram_bench.loads.source import Bursts
from tinygram_bench.ways.runtimes import Way


def send(sock: socket.socket, bursts: Bursts, _way: Way) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _send_each(sock, bursts)


def send_with_nagle(sock: socket.socket, bursts: Bursts, _way: Way) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
    _send_each(sock, bursts)


def _send_each(sock: socket.socket, bursts: Bursts) -> None:
    while (burst := bursts.next_burst()) is not None:
        for message in burst:
            sock.sendall(message)
