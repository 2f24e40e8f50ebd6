"""A write per message, with Nagle's algorithm (RFC 896) or without."""

from __future__ import annotations

import asyncio
import socket

from tinygram.bench.runtimes import Way
from tinygram.bench.source import AwaitableBursts


async def send(writer: asyncio.StreamWriter, bursts: AwaitableBursts, _way: Way) -> None:
    """Strategy `nodelay`."""
    set_option(writer, socket.TCP_NODELAY, 1)
    await _send_each(writer, bursts)


async def send_with_nagle(writer: asyncio.StreamWriter, bursts: AwaitableBursts, _way: Way) -> None:
    """Strategy `nagle`. Event loops switch TCP_NODELAY on; this switches it off again."""
    set_option(writer, socket.TCP_NODELAY, 0)
    await _send_each(writer, bursts)


def set_option(writer: asyncio.StreamWriter, option: int, value: int) -> None:
    """Set a TCP option of the connection behind a writer. Raises ConnectionResetError."""
    if writer.is_closing():
        # As drain() says it; the socket is closed, gone or refused, each loop in its own way.
        raise ConnectionResetError("Connection lost")
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, value)


async def _send_each(writer: asyncio.StreamWriter, bursts: AwaitableBursts) -> None:
    while (burst := await bursts.next_burst()) is not None:
        for message in burst:
            writer.write(message)
            await writer.drain()
