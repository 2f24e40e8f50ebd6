"""Two ends of one connection, on the running loop: over TCP, a Unix socket, or TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.library.conformance.recorder import Calls, Recorder

# The kernel doubles it. With less than two of loopback's 64 KiB segments under way, TCP would
# wait for acknowledgements that are delayed by 40 ms.
SMALL_BUFFER_BYTES = 96 * 1024
CHUNK_BYTES = 256 * 1024
# More than the kernel's buffers and those of TLS hold together.
STALLING_BYTES = 3_000_000

Factory = Callable[[], asyncio.BaseProtocol]


@dataclass(frozen=True)
class Contexts:
    """What the two sides of TLS know of each other."""

    client: ssl.SSLContext
    server: ssl.SSLContext


@dataclass(frozen=True)
class Channel:
    """A kind of connection; `is_accepted` says which of its ends is the one under test."""

    kind: str
    is_accepted: bool
    contexts: Contexts
    folder: Path

    @property
    def is_tls(self) -> bool:
        return self.kind == "tls"

    async def serve(self, factory: Factory) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        if self.kind == "unix":
            return await loop.create_unix_server(factory, str(self.folder / "s"))
        context = self.contexts.server if self.is_tls else None
        return await loop.create_server(factory, "127.0.0.1", 0, ssl=context)

    async def connect(
        self, factory: Factory, server: asyncio.Server
    ) -> tuple[asyncio.BaseTransport, asyncio.BaseProtocol]:
        loop = asyncio.get_running_loop()
        if self.kind == "unix":
            return await loop.create_unix_connection(factory, str(self.folder / "s"))
        port = server.sockets[0].getsockname()[1]
        tls: dict[str, Any] = {}
        if self.is_tls:
            tls = {"ssl": self.contexts.client, "server_hostname": "localhost"}
        return await loop.create_connection(factory, "127.0.0.1", port, **tls)

    @asynccontextmanager
    async def joined(self, ours: Calls, peer: Calls) -> AsyncIterator[None]:
        """Join the two; afterwards both are aborted and must have been called in order."""
        accepted, connecting = (ours, peer) if self.is_accepted else (peer, ours)
        server = await self.serve(lambda: accepted)
        try:
            transport, protocol = await self.connect(lambda: connecting, server)
            assert transport is connecting.transport
            assert protocol is connecting
            await accepted.called("connection_made")
            yield
        finally:
            server.close()
            ends = [end for end in (ours, peer) if "connection_made" in end.calls]
            for end in ends:
                # Documented nowhere: asyncio's raises where the end was already told.
                if "connection_lost" not in end.calls:
                    end.transport.abort()
            for end in ends:
                await end.called("connection_lost")
            await server.wait_closed()
        for end in ends:
            end.assert_order()


@asynccontextmanager
async def pair(channel: Channel) -> AsyncIterator[tuple[Recorder, Recorder]]:
    """The end under test, and its peer."""
    ours, peer = Recorder(), Recorder()
    async with channel.joined(ours, peer):
        yield ours, peer


def socket_of(transport: asyncio.BaseTransport) -> socket.socket:
    """The socket that the transport shows; its methods are those of a real one."""
    shown: socket.socket = transport.get_extra_info("socket")
    return shown


def make_buffers_small(transport: asyncio.BaseTransport) -> None:
    """Let the kernel take little, and never more because this end was quick before."""
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        socket_of(transport).setsockopt(socket.SOL_SOCKET, option, SMALL_BUFFER_BYTES)


async def stall(sender: Calls, reader: Calls) -> bytes:
    """Stop the reader and write more than can leave before it goes on; return what was written.

    It is written in two, because TLS counts only what comes after that which it has passed on.
    The buffer has come to rest when several looks at it see the same; what follows at once may
    count on its size, and what takes longer only on it being anything but empty.
    """
    make_buffers_small(sender.transport)
    make_buffers_small(reader.transport)
    reader.transport.pause_reading()
    written = pattern(STALLING_BYTES), pattern(CHUNK_BYTES)
    for chunk in written:
        sender.transport.write(chunk)
    sizes: list[int] = []
    while len(sizes) < 3 or len(set(sizes[-3:])) > 1:
        await asyncio.sleep(0.002)
        sizes.append(sender.transport.get_write_buffer_size())
    assert sizes[-1] > 0
    return b"".join(written)


async def turns(count: int = 5) -> None:
    """Let the loop go round, for what must not happen in the meantime."""
    for _ in range(count):
        await asyncio.sleep(0)


def pattern(count: int) -> bytes:
    """Bytes of which a missing, doubled or moved one is seen: 251 is prime."""
    return (bytes(range(251)) * (count // 251 + 1))[:count]


def reset(end: Calls) -> None:
    """Close a TCP connection with RST, as a host that has lost its memory of it does."""
    linger = struct.pack("ii", 1, 0)
    socket_of(end.transport).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    end.transport.abort()
