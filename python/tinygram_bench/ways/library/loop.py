"""A plain loop that sends through `tinygram.batch`."""

from __future__ import annotations

import socket

import tinygram
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything; waiting for more messages ends when those that are held are due."""
    sock.getpeername()  # Raises OSError for a lost connection; `batch` would raise ValueError.
    with tinygram.batch(sock, strategy=way.strategy) as out:
        way.library_holds = lambda: out.stats().holds
        while (burst := source.next_burst(out.deadline_ns)) is not None:
            for message in burst:
                out.send(message)
            out.poll()
