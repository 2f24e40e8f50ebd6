"""What a typed program may write: no type checker has a word to say."""

# pyright: strict

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import assert_type

import tinygram


class Quotes(asyncio.Protocol):
    """A program's protocol."""

    symbol = "TINY"


async def streams(context: ssl.SSLContext, sock: socket.socket) -> None:
    reader, writer = await tinygram.open_connection(
        "localhost",
        443,
        limit=1 << 20,
        strategy=tinygram.coalesce(10),
        max_bytes=1 << 16,
        max_hold_us=0.5,
        max_buffered_bytes=None,
        ssl=context,
        server_hostname="localhost",
        ssl_handshake_timeout=5,
    )
    assert_type(reader, asyncio.StreamReader)
    assert_type(writer, tinygram.StreamWriter)
    assert_type(writer.transport, tinygram.Transport)
    assert_type(writer.transport.stats(), tinygram.Stats)
    assert_type(writer.transport.stats().messages_per_write, float | None)
    plain: asyncio.StreamWriter = writer
    plain.write(b"message")
    await tinygram.open_connection(sock=sock, strategy=tinygram.tick)
    _, writer = await tinygram.open_unix_connection("/run/server", strategy=tinygram.tick)
    assert_type(writer.transport.stats().flushes, dict[str, int])


async def on_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A handler that knows nothing of tinygram."""
    writer.write(await reader.read(100))


async def on_our_stream(reader: asyncio.StreamReader, writer: tinygram.StreamWriter) -> None:
    """A handler that does."""
    writer.write(await reader.read(100))
    assert_type(writer.transport.stats(), tinygram.Stats)


async def servers(context: ssl.SSLContext) -> None:
    server = await tinygram.start_server(
        on_stream, ["127.0.0.1", "::1"], 0, strategy=tinygram.tick, backlog=5, ssl=context
    )
    async with server:
        await server.serve_forever()
    await tinygram.start_server(on_our_stream, port=0, max_bytes=1500, reuse_port=True)
    server = await tinygram.start_unix_server(on_our_stream, "/run/server", max_hold_us=50)
    server.close()


async def protocols(context: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    transport, protocol = await tinygram.create_connection(
        loop, Quotes, "localhost", 443, strategy=tinygram.adaptive, ssl=context
    )
    assert_type(transport, tinygram.Transport)
    assert_type(protocol, Quotes)
    transport.write(memoryview(b"message"))
    assert_type(transport.stats().holds, tinygram.Histogram)
    transport, _ = await tinygram.create_unix_connection(loop, Quotes, "/run/server")
    server = await tinygram.create_server(loop, Quotes, "localhost", 0, max_buffered_bytes=1 << 20)
    print([sock.getsockname() for sock in server.sockets])
    await tinygram.create_unix_server(loop, Quotes, "/run/server", strategy=tinygram.nagle)


async def drop_in() -> None:
    """On our loop asyncio's own functions have our transport, which types cannot know."""
    _, writer = await asyncio.open_connection("localhost", 443)
    if isinstance(writer.transport, tinygram.Transport):
        assert_type(writer.transport.stats(), tinygram.Stats)


def blocking(sock: socket.socket) -> None:
    with tinygram.batch(sock, strategy=tinygram.tick, max_bytes=1500, max_hold_us=100) as out:
        out.send(b"message")
        assert_type(out.send_many([b"message", bytearray(b"another")]), None)
        out.send_many(b"%d" % number for number in range(3))
        assert_type(out, tinygram.Batch)
        assert_type(out.deadline_ns, int | None)
        assert_type(out.stats(), tinygram.Stats)
    with tinygram.CoalescingSocket(sock, strategy=tinygram.combine, max_bytes=1500) as shared:
        assert_type(shared.send(bytearray(b"message")), int)
        assert_type(shared.held_bytes, int)
        assert_type(shared.stats().writes, int)


def loops() -> None:
    with asyncio.Runner(loop_factory=tinygram.new_event_loop) as runner:
        runner.run(drop_in())
    loop = tinygram.new_event_loop(asyncio.SelectorEventLoop, strategy=tinygram.coalesce(0.5))
    assert_type(loop, asyncio.AbstractEventLoop)
