"""Hold messages with one event-loop timer per batch."""

from __future__ import annotations

import asyncio
import socket
from time import monotonic_ns

from tinygram_bench.loads.source import AwaitableBursts
from tinygram_bench.ways.by_hand.streams.options import set_option
from tinygram_bench.ways.runtimes import MAX_BATCH_BYTES, Way


async def send(writer: asyncio.StreamWriter, bursts: AwaitableBursts, way: Way) -> None:
    """Strategy `timer`: the event loop's timer decides when the hold is over."""
    set_option(writer, socket.TCP_NODELAY, 1)
    loop = asyncio.get_running_loop()
    hold_ns = way.strategy.hold_ns or 0
    batch: list[bytes] = []
    batch_bytes = 0
    held_since_ns = 0
    timer: asyncio.TimerHandle | None = None

    def flush() -> None:
        nonlocal batch_bytes, timer
        if timer is not None:
            timer.cancel()
            timer = None
            way.holds_ns.append(monotonic_ns() - held_since_ns)
            writer.write(b"".join(batch))
            batch.clear()
            batch_bytes = 0

    while (burst := await bursts.next_burst()) is not None:
        for message in burst:
            if timer is None:
                held_since_ns = monotonic_ns()
                timer = loop.call_later(hold_ns / 1e9, flush)
            batch.append(message)
            batch_bytes += len(message)
            if batch_bytes >= MAX_BATCH_BYTES:
                flush()
        await writer.drain()
    flush()
    await writer.drain()
