"""TCP_CORK: a write per message, and the kernel holds back what fills no segment."""

from __future__ import annotations

import asyncio
import socket

from tinygram_bench.loads.source import AwaitableBursts
from tinygram_bench.ways.by_hand.streams.options import set_option
from tinygram_bench.ways.runtimes import Way


async def send(writer: asyncio.StreamWriter, bursts: AwaitableBursts, way: Way) -> None:
    """Strategy `cork`: cork around each burst; flat out, around the whole stream."""
    set_option(writer, socket.TCP_NODELAY, 1)
    if way.is_flat_out:
        set_option(writer, socket.TCP_CORK, 1)
    while (burst := await bursts.next_burst()) is not None:
        if not way.is_flat_out:
            set_option(writer, socket.TCP_CORK, 1)
        for message in burst:
            writer.write(message)
            await writer.drain()
        if not way.is_flat_out:
            set_option(writer, socket.TCP_CORK, 0)
    set_option(writer, socket.TCP_CORK, 0)
