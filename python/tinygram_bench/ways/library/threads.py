"""Threads that send on one `tinygram.CoalescingSocket`."""

from __future__ import annotations

import socket

import tinygram
from tinygram_bench.loads.producers import produce
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way, *, hands_over_lists: bool = False) -> None:
    """Send everything; messages that are held are sent by the native thread.

    `hands_over_lists`: messages that are there at an instant are handed over by one `send_many`.
    """
    sock.getpeername()  # Raises OSError for a lost connection, instead of ValueError.
    out = tinygram.CoalescingSocket(sock, strategy=way.strategy)
    way.watch_writes()
    way.library_holds = lambda: out.stats().holds
    try:
        produce(source, out.send, send_many=out.send_many if hands_over_lists else None)
        out.flush()
    finally:
        out.abort()
