"""A protocol that says whether its transport has room, for sides that write without a queue."""

from __future__ import annotations

import asyncio


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
        """Until the transport has room."""
        await self._room.wait()

    async def wait_closed(self) -> None:
        """Until all was sent and the connection closed."""
        await self._closed.wait()
