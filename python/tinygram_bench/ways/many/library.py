"""The program of event_loops.py on the library's loop."""

from __future__ import annotations

import asyncio
import socket

from tinygram import new_event_loop
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.many import event_loops
from tinygram_bench.ways.runtimes import Way


def run(_sock: socket.socket, source: Source, way: Way) -> None:
    def make_loop() -> asyncio.AbstractEventLoop:
        return new_event_loop(loop_factory(way.runtime), strategy=way.strategy)

    event_loops.run(make_loop, source, way)
