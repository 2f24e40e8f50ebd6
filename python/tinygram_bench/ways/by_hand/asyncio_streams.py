"""asyncio streams, on the stock loop or on uvloop, with a bounded queue and a sending task."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from time import monotonic_ns

from tinygram_bench.loads.async_source import AsyncSource
from tinygram_bench.loads.source import BURST_MESSAGES, Source
from tinygram_bench.ways.by_hand.queued import END, QUEUE_MESSAGES
from tinygram_bench.ways.by_hand.streams import STRATEGIES
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    with asyncio.Runner(loop_factory=loop_factory(way.runtime)) as runner:
        runner.run(_run(sock, source, way))


async def _run(sock: socket.socket, source: Source, way: Way) -> None:
    _, writer = await asyncio.open_connection(
        sock=sock, ssl=way.tls, server_hostname=way.server_name
    )
    messages: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE_MESSAGES)
    try:
        async with asyncio.TaskGroup() as tasks:
            # When one fails, the other is cancelled and the failure raised.
            tasks.create_task(_produce(AsyncSource(source), messages))
            tasks.create_task(STRATEGIES[way.strategy.name](writer, QueuedBursts(messages), way))
    except* RuntimeError:
        if not writer.is_closing():
            raise
        # uvloop raises this for a write to a lost connection: raise what drain() would.
        raise ConnectionResetError("Connection lost") from None
    writer.close()
    await writer.wait_closed()


async def _produce(source: AsyncSource, messages: asyncio.Queue[bytes | None]) -> None:
    while (burst := await source.next_burst()) is not None:
        for message in burst:
            await messages.put(message)
    await messages.put(END)


class QueuedBursts:
    """Bursts of the messages in the queue when its sender wakes, at most 64."""

    def __init__(self, messages: asyncio.Queue[bytes | None]) -> None:
        self._queue = messages
        self._has_ended = False

    async def next_burst(self, until_ns: int | None = None) -> Sequence[bytes] | None:
        """Like `AwaitableBursts.next_burst`."""
        if self._has_ended:
            return None
        if until_ns is None or not self._queue.empty():
            message = await self._queue.get()
        else:
            try:
                async with asyncio.timeout((until_ns - monotonic_ns()) / 1e9):
                    message = await self._queue.get()
            except TimeoutError:
                return ()
        burst: list[bytes] = []
        while message is not END:
            burst.append(message)
            if len(burst) == BURST_MESSAGES or self._queue.empty():
                return burst
            message = self._queue.get_nowait()
        self._has_ended = True
        return burst or None
