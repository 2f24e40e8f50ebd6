"""A plain loop: one thread that takes messages and sends them."""

from __future__ import annotations

import socket

from tinygram_bench.loads.source import Source
from tinygram_bench.ways.by_hand.blocking import STRATEGIES
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything; the strategy takes bursts from the source directly."""
    STRATEGIES[way.strategy.name](sock, source, way)
