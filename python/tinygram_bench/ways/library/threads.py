"""Threads that send on one `tinygram.CoalescingSocket`."""

from __future__ import annotations

import socket

import tinygram
from tinygram_bench.load.producers import produce
from tinygram_bench.load.source import Source
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything; what is held is the native thread's to send."""
    sock.getpeername()  # A connection that is lost already is no wrong argument.
    out = tinygram.CoalescingSocket(sock, strategy=way.strategy)
    way.watch_writes()
    way.library_holds = lambda: out.stats().holds
    try:
        produce(source, out.send)
        out.flush()
    finally:
        out.abort()
