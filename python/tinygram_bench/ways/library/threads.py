"""Threads that send on one `tinygram.CoalescingSocket`."""

from __future__ import annotations

import socket

import tinygram
from tinygram_bench.loads.producers import produce
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way, *, hands_over_lists: bool = False) -> None:
    """Send everything; what is held is the native thread's to send.

    `hands_over_lists`: by `send_many`, what is there at an instant at one go.
    """
    sock.getpeername()  # A connection that is lost already is no wrong argument.
    out = tinygram.CoalescingSocket(sock, strategy=way.strategy)
    way.watch_writes()
    way.library_holds = lambda: out.stats().holds
    try:
        produce(source, out.send, send_many=out.send_many if hands_over_lists else None)
        out.flush()
    finally:
        out.abort()
