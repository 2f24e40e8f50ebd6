"""What the sides write through on an event loop: a protocol that knows of room, and two ways.

And how they take turns there.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterable

from library.baton import Took, turns
from library.sides.sending import Stream

from tinygram_bench.processes.orders import Orders

Bursts = Iterable[list[bytes]]
Write = Callable[[bytes], None]
Send = Callable[[Bursts], Awaitable[None]]
Connect = Callable[[socket.socket], Awaitable[Send]]
"""Makes what sends on a connection, once for all turns."""


class Connection(asyncio.Protocol):
    """`has_room` is asked after every burst; only without room does a side wait."""

    def __init__(self) -> None:
        self.has_room = True
        self._room = asyncio.Event()
        self._closed = asyncio.Event()

    def pause_writing(self) -> None:
        self.has_room = False
        self._room.clear()

    def resume_writing(self) -> None:
        self.has_room = True
        self._room.set()

    def connection_lost(self, _reason: Exception | None) -> None:
        self.resume_writing()
        self._closed.set()

    async def wait_room(self) -> None:
        """Wait until the transport has room."""
        await self._room.wait()

    async def wait_closed(self) -> None:
        """Wait until all was sent and the connection is closed."""
        await self._closed.wait()


async def write_each(write: Write, connection: Connection, bursts: Bursts) -> None:
    """Write every message, a burst per iteration of the loop."""
    for burst in bursts:
        for message in burst:
            write(message)
        await asyncio.sleep(0)
        if not connection.has_room:
            await connection.wait_room()


def joining(write_joined: Write) -> Write:
    """By hand: the first message of an iteration schedules one write for all of them."""
    loop = asyncio.get_running_loop()
    batch: list[bytes] = []

    def flush() -> None:
        write_joined(b"".join(batch))
        batch.clear()

    def write(message: bytes) -> None:
        if not batch:
            loop.call_soon(flush)
        batch.append(message)

    return write


async def send_by_turns(stream: Stream, connect: Connect, orders: Orders) -> None:
    """Send the stream's next messages in each turn; between two the loop stands still."""
    send = await connect(stream.sock)
    for count in turns(orders):
        bursts = stream.messages.bursts(count)
        start_ns = time.monotonic_ns()
        await send(bursts)
        took_ns = time.monotonic_ns() - start_ns
        await stream.wait_arrived_meanwhile()
        orders.say(Took(start_ns, took_ns))
    stream.end()
