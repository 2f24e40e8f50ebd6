"""By hand with `call_soon` and join: one write for all that an iteration of the loop brought.

On an event loop, careful people write this instead of a queue: the first message of an iteration
schedules the flush, which the loop calls before it waits for anything.
"""

from __future__ import annotations

import asyncio
import socket

from tinygram_bench.loads.source import Source
from tinygram_bench.ways import transports
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.runtimes import Way
from tinygram_bench.ways.transports import Connection, Write


def run(sock: socket.socket, source: Source, way: Way) -> None:
    transports.run(loop_factory(way.runtime), sock, source, way, _connect, _joining)


async def _connect(sock: socket.socket, way: Way) -> tuple[asyncio.WriteTransport, Connection]:
    return await asyncio.get_running_loop().create_connection(
        Connection, sock=sock, ssl=way.tls, server_hostname=way.server_name
    )


def _joining(transport: asyncio.WriteTransport) -> Write:
    call_soon = asyncio.get_running_loop().call_soon
    batch: list[bytes] = []

    def flush() -> None:
        transport.write(b"".join(batch))
        batch.clear()

    def write(message: bytes) -> None:
        if not batch:
            call_soon(flush)
        batch.append(message)

    return write
