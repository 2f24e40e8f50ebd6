"""Two ends of one connection as asyncio's streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from tests.library.conformance.channels import Channel

# A small one, so that a reader that does not read stops its transport soon.
LIMIT_BYTES = 16 * 1024


class End(NamedTuple):
    """What `open_connection` returns."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def serve(channel: Channel, client_connected: Any, **options: Any) -> asyncio.Server:
    if channel.kind == "unix":
        path = str(channel.folder / "streams")
        return await asyncio.start_unix_server(client_connected, path, **options)
    if channel.is_tls:
        options["ssl"] = channel.contexts.server
    return await asyncio.start_server(client_connected, "127.0.0.1", 0, **options)


async def connect(channel: Channel, server: asyncio.Server, **options: Any) -> End:
    if channel.kind == "unix":
        path = str(channel.folder / "streams")
        return End(*await asyncio.open_unix_connection(path, **options))
    port = server.sockets[0].getsockname()[1]
    if channel.is_tls:
        options |= {"ssl": channel.contexts.client, "server_hostname": "localhost"}
    return End(*await asyncio.open_connection("127.0.0.1", port, **options))


async def close(end: End) -> None:
    """Close without waiting for what a stalled peer has not read."""
    if not end.writer.is_closing():
        end.writer.transport.abort()
    with suppress(ConnectionError):
        await end.writer.wait_closed()


@asynccontextmanager
async def stream_pair(channel: Channel) -> AsyncIterator[tuple[End, End]]:
    """The end under test, and its peer."""
    accepted: asyncio.Future[End] = asyncio.get_running_loop().create_future()

    def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(End(reader, writer))

    server = await serve(channel, on_connection, limit=LIMIT_BYTES)
    client = await connect(channel, server, limit=LIMIT_BYTES)
    there = await accepted
    try:
        yield (there, client) if channel.is_accepted else (client, there)
    finally:
        server.close()
        await close(client)
        await close(there)
        await server.wait_closed()
