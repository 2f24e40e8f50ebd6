"""aiofastnet: asyncio's transports written anew in Cython, on the stock loop or on uvloop."""

from __future__ import annotations

import asyncio
import socket

import aiofastnet

from tinygram_bench.loads.source import Source
from tinygram_bench.ways import transports
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.runtimes import Way
from tinygram_bench.ways.transports import Connection


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Strategy `nodelay`: a write per message on its transport."""
    transports.run(loop_factory(way.runtime), sock, source, way, _connect)


async def _connect(sock: socket.socket, way: Way) -> tuple[asyncio.WriteTransport, Connection]:
    loop = asyncio.get_running_loop()
    return await aiofastnet.create_connection(
        loop, Connection, sock=sock, ssl=way.tls, server_hostname=way.server_name
    )
