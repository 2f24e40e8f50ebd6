"""asyncio streams: a StreamReader, a StreamWriter and a task for each connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tinygram_bench.workloads.echo.servers.on_loop import run, serve_protocols
from tinygram_bench.workloads.echo.servers.service import Service

_Echo = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def serve(service: Service) -> None:
    run(service, _serve(service))


class _Connection(asyncio.StreamReaderProtocol):
    """What asyncio.start_server makes of a connection, unless it is a stranger's.

    This is checked before anything is read: the task of a connection may begin later.
    """

    def __init__(self, service: Service, echo: _Echo) -> None:
        # The transport decides how much it reads; the limit is how much is kept before it stops.
        super().__init__(asyncio.StreamReader(limit=service.buffer_bytes), echo)
        self._service = service

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._service.begin(transport):
            super().connection_made(transport)


async def _serve(service: Service) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        replies, buffer_bytes = service.replies(), service.buffer_bytes
        try:
            while data := await reader.read(buffer_bytes):
                for reply in replies(data):
                    writer.write(reply)
                await writer.drain()
        except ConnectionError:
            return  # The client has left.
        finally:
            writer.close()

    await serve_protocols(service, lambda: _Connection(service, echo))
