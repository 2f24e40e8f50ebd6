"""A thread that sends on a `tinygram.CoalescingSocket`, as any number of threads could."""

from __future__ import annotations

import socket

import tinygram
from tinygram.bench.runtimes import Way
from tinygram.bench.runtimes.library.strategies import library_strategy
from tinygram.bench.source import Source


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything; what is held is the native thread's to send, while this one waits."""
    sock.getpeername()  # A connection that is lost already is no wrong argument.
    out = tinygram.CoalescingSocket(sock, strategy=library_strategy(way.strategy))
    way.watch_writes()
    way.library_holds = lambda: out.stats().holds
    try:
        while (burst := source.next_burst()) is not None:
            for message in burst:
                out.send(message)
        out.flush()
    finally:
        out.abort()
