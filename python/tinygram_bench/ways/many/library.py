"""The program of event_loops.py on the library's loop."""

from __future__ import annotations

import socket

from tinygram_bench.loads.source import Source
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.many import event_loops
from tinygram_bench.ways.runtimes import Way


def run(_sock: socket.socket, source: Source, way: Way) -> None:
    event_loops.run(loop_factory(way.runtime, way.strategy), source, way)
