"""A plain loop: one thread that sends what there is to send."""

from __future__ import annotations

import socket

from tinygram_bench.loads.source import Source
from tinygram_bench.ways.by_hand.blocking import STRATEGIES
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything; the strategy asks the source itself."""
    STRATEGIES[way.strategy.name](sock, source, way)
