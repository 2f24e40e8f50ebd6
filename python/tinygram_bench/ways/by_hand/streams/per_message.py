"""A write per message, with Nagle's algorithm (RFC 896) or without."""

from __future__ import annotations

import asyncio
import socket

from tinygram_bench.loads.source import AwaitableBursts
from tinygram_bench.ways.by_hand.streams.options import set_option
from tinygram_bench.ways.runtimes import Way


async def send(writer: asyncio.StreamWriter, bursts: AwaitableBursts, _way: Way) -> None:
    set_option(writer, socket.TCP_NODELAY, 1)
    await _send_each(writer, bursts)


async def send_with_nagle(writer: asyncio.StreamWriter, bursts: AwaitableBursts, _way: Way) -> None:
    """Strategy `nagle`. Event loops switch TCP_NODELAY on; this switches it off again."""
    set_option(writer, socket.TCP_NODELAY, 0)
    await _send_each(writer, bursts)


async def _send_each(writer: asyncio.StreamWriter, bursts: AwaitableBursts) -> None:
    while (burst := await bursts.next_burst()) is not None:
        for message in burst:
            writer.write(message)
            await writer.drain()
