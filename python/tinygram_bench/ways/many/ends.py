"""Many connections on which one event loop writes: the bytes that wait for them are bounded."""

from __future__ import annotations

import asyncio
import time

MOST_WAITING_BYTES = 64 << 20
"""The most bytes that wait here for slow peers: writing pauses meanwhile, or, in a fan-out at a
rate, fails where there are more."""
_MOST_UNTOLD_BYTES = 64 << 10
"""A connection for which more bytes wait is behind; asyncio's own transports have the same
limit."""
_CLOSE_LIMIT_S = 10.0
_LOOK_S = 0.0005


class Ends:
    """What the transports of all connections report: which are behind, and which are lost.

    `peer`: what the other end of a connection is called. While none of the `connections` is behind,
    at most `MOST_WAITING_BYTES` wait for all of them together.
    """

    def __init__(self, peer: str, connections: int) -> None:
        self._peer = peer
        self._untold_bytes = min(_MOST_UNTOLD_BYTES, MOST_WAITING_BYTES // connections)
        self.transports: list[asyncio.WriteTransport] = []
        self._behind: set[int] = set()
        self._lost: tuple[int, Exception | None] | None = None
        self._closed = 0
        self._is_changed = asyncio.Event()

    def add(self, transport: asyncio.WriteTransport) -> None:
        """Add the next connection's transport; it is behind while more waits than its share."""
        transport.set_write_buffer_limits(high=self._untold_bytes)
        self.transports.append(transport)

    def on_full(self, connection: int) -> None:
        self._behind.add(connection)

    def on_room(self, connection: int) -> None:
        self._behind.discard(connection)
        self._is_changed.set()

    def on_lost(self, connection: int, reason: Exception | None) -> None:
        self._closed += 1
        if self._lost is None:
            self._lost = connection, reason
        self._is_changed.set()

    async def written(self) -> None:
        """Let the loop finish its iteration.

        Raises OSError where a connection is lost, or more than MOST_WAITING_BYTES wait.
        """
        await self._iterated()
        if self._behind:
            most, bytes_of = self._waiting()
            if sum(bytes_of) > MOST_WAITING_BYTES:
                raise self._too_far_behind(most, bytes_of)

    async def handed_over(self, patience_ns: int) -> None:
        """Let the loop finish its iteration, and wait while a connection is behind.

        Raises OSError where a connection is lost, or none takes anything for `patience_ns`.
        """
        await self._iterated()
        while self._behind:
            self._is_changed.clear()
            try:
                async with asyncio.timeout(patience_ns / 1e9):
                    await self._is_changed.wait()
            except TimeoutError:
                raise self._too_far_behind(*self._waiting()) from None
            self._check_lost()

    async def emptied(self, patience_ns: int) -> None:
        """Wait until no transport has anything left: some strategies hold beyond an iteration.

        Raises OSError where a connection takes nothing for `patience_ns`.
        """
        await self.handed_over(patience_ns)
        for transport in self.transports:
            before, give_up_ns = 0, 0
            while left := transport.get_write_buffer_size():
                now_ns = time.monotonic_ns()
                if left != before:
                    before, give_up_ns = left, now_ns + patience_ns
                elif now_ns > give_up_ns:
                    raise self._too_far_behind(*self._waiting())
                await asyncio.sleep(_LOOK_S)
                self._check_lost()

    async def close(self) -> None:
        """End all connections, and wait until they are. Raises OSError where one is lost."""
        for transport in self.transports:
            transport.close()
        async with asyncio.timeout(_CLOSE_LIMIT_S):
            while self._closed < len(self.transports):
                self._is_changed.clear()
                await self._is_changed.wait()
        if self._lost is not None and self._lost[1] is not None:
            self._check_lost()

    async def _iterated(self) -> None:
        await asyncio.sleep(0)
        self._check_lost()

    def _check_lost(self) -> None:
        if self._lost is not None:
            connection, reason = self._lost
            raise OSError(
                f"{self._peer} {connection} has ended its connection: {reason or 'end of stream'}"
            )

    def _waiting(self) -> tuple[int, list[int]]:
        """The connection for which most bytes wait, and the bytes that wait for each."""
        bytes_of = [transport.get_write_buffer_size() for transport in self.transports]
        return bytes_of.index(max(bytes_of)), bytes_of

    def _too_far_behind(self, most: int, bytes_of: list[int]) -> OSError:
        return OSError(
            f"{self._peer} {most} does not keep up: {bytes_of[most]} of the {sum(bytes_of)} bytes "
            "that wait here wait for it"
        )


class End(asyncio.Protocol):
    """The protocol of one of many connections, which reports to `Ends`."""

    def __init__(self, connection: int, ends: Ends) -> None:
        self._connection, self._ends = connection, ends

    def pause_writing(self) -> None:
        self._ends.on_full(self._connection)

    def resume_writing(self) -> None:
        self._ends.on_room(self._connection)

    def connection_lost(self, reason: Exception | None) -> None:
        self._ends.on_lost(self._connection, reason)
