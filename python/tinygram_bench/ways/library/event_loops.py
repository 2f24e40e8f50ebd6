"""An event loop of `tinygram.new_event_loop`, on which an ordinary program writes each message."""

from __future__ import annotations

import asyncio
import socket

from tinygram import Transport
from tinygram_bench.loads.source import Source
from tinygram_bench.ways import transports
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.runtimes import Way
from tinygram_bench.ways.transports import Connection


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything; the loop below is the stock one or uvloop's."""

    async def connect(sock: socket.socket, way: Way) -> tuple[asyncio.WriteTransport, Connection]:
        loop = asyncio.get_running_loop()
        transport, connection = await loop.create_connection(
            Connection, sock=sock, ssl=way.tls, server_hostname=way.server_name
        )
        assert isinstance(transport, Transport)
        way.library_holds = lambda: transport.stats().holds
        return transport, connection

    transports.run(loop_factory(way.runtime, way.strategy), sock, source, way, connect)
