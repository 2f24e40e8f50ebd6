"""MSG_MORE: each write but a burst's last tells the kernel that more follows."""

from __future__ import annotations

import socket

from tinygram_bench.loads.source import Bursts
from tinygram_bench.ways.runtimes import Way


def send(sock: socket.socket, bursts: Bursts, _way: Way) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while (burst := bursts.next_burst()) is not None:
        for message in burst[:-1]:
            sock.sendall(message, socket.MSG_MORE)
        for message in burst[-1:]:
            sock.sendall(message)
