"""An event loop without a queue: the coroutine with the messages writes them on a transport.

It writes one burst per iteration, flat out 64 messages, stops while the transport is full
(`pause_writing`), and at the end waits until the connection is closed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from tinygram_bench.loads.async_source import AsyncSource
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.runtimes import Way


class Connection(asyncio.Protocol):
    """Notes what the transport reports: whether there is room, and whether it is lost or closed."""

    def __init__(self) -> None:
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._closed = asyncio.get_running_loop().create_future()

    def pause_writing(self) -> None:
        """Called when the transport's buffer is above its high-water mark."""
        self._has_room.clear()

    def resume_writing(self) -> None:
        """Called when the buffer is below its low-water mark again."""
        self._has_room.set()

    def connection_lost(self, reason: Exception | None) -> None:
        """Called once; `reason` is None where we closed it ourselves."""
        self._has_room.set()
        self._closed.set_result(reason)

    async def wait_room(self) -> None:
        """Let the loop finish its iteration, and wait while the transport is full.

        Raises the error that lost the connection.
        """
        await asyncio.sleep(0)
        if not self._has_room.is_set():
            await self._has_room.wait()
        if self._closed.done():
            raise self._closed.result() or ConnectionResetError("Connection lost")

    async def wait_closed(self) -> None:
        """Wait until all is sent and the connection is closed. Raises the error that lost it."""
        reason = await self._closed
        if reason is not None:
            raise reason


Connect = Callable[[socket.socket, Way], Awaitable[tuple[asyncio.WriteTransport, Connection]]]
"""Makes a transport of a connected socket, encrypted if the way is; its protocol is a new
`Connection`."""
Write = Callable[[bytes], None]


def run(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
    sock: socket.socket,
    source: Source,
    way: Way,
    connect: Connect,
    writing: Callable[[asyncio.WriteTransport], Write] = lambda transport: transport.write,
) -> None:
    """Write everything on a new loop; `writing` makes the function that writes each message."""

    async def send() -> None:
        # Loops set this themselves only where `sock.proto` is TCP, and it is 0 for most sockets.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport, connection = await connect(sock, way)
        try:
            await _write_each(AsyncSource(source), writing(transport), connection)
        except BaseException as failure:
            is_lost = transport.is_closing()
            transport.abort()
            if is_lost and isinstance(failure, RuntimeError):
                # uvloop raises this for a write to a lost connection: raise what asyncio would.
                raise ConnectionResetError("Connection lost") from None
            raise
        transport.close()
        await connection.wait_closed()

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(send())


async def _write_each(source: AsyncSource, write: Write, connection: Connection) -> None:
    while (burst := await source.next_burst()) is not None:
        for message in burst:
            write(message)
        await connection.wait_room()
