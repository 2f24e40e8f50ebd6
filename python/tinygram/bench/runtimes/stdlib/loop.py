"""A plain loop: one thread that sends what there is to send."""

from __future__ import annotations

import socket

from tinygram.bench.runtimes import Way
from tinygram.bench.runtimes.stdlib.blocking import STRATEGIES
from tinygram.bench.source import Source


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything; the strategy asks the source itself."""
    STRATEGIES[way.strategy.name](sock, source, way)
