"""aiofastnet: asyncio's transports written anew in Cython, on the stock loop or on uvloop."""

from __future__ import annotations

import asyncio
import socket

import aiofastnet

from tinygram.bench.runtimes import Way, transports
from tinygram.bench.runtimes.event_loops import loop_factory
from tinygram.bench.runtimes.transports import Connection
from tinygram.bench.source import Source


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Strategy `nodelay`: a write per message on its transport."""
    transports.run(loop_factory(way.runtime), sock, source, _connect)


async def _connect(sock: socket.socket) -> tuple[asyncio.WriteTransport, Connection]:
    loop = asyncio.get_running_loop()
    return await aiofastnet.create_connection(loop, Connection, sock=sock)
