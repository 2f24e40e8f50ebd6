"""A lock around sendall: what threads that share a connection do without a queue."""

from __future__ import annotations

import socket
import threading

from tinygram_bench.loads.producers import produce
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Strategies `nodelay` and `nagle`: each producer writes its own messages."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, way.strategy.name == "nodelay")
    lock = threading.Lock()

    def send(message: bytes) -> None:
        with lock:
            sock.sendall(message)

    produce(source, send)
