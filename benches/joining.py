"""Coalescing for 10 µs as one writes it by hand, without the bench and without the library."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterable

QUEUE_MESSAGES = 200
HOLD_NS = 10_000
MAX_BATCH_BYTES = 64 << 10

Waiting = asyncio.Queue[bytes | None]


def join_in_loop(sock: socket.socket, messages: Iterable[bytes]) -> None:
    """Send a list as one after 10 µs or 64 KiB; the clock is read for each message."""
    batch: list[bytes] = []
    batch_bytes = 0
    deadline_ns = 0
    for message in messages:
        if not batch:
            deadline_ns = time.monotonic_ns() + HOLD_NS
        batch.append(message)
        batch_bytes += len(message)
        if batch_bytes >= MAX_BATCH_BYTES or time.monotonic_ns() >= deadline_ns:
            sock.sendall(b"".join(batch))
            batch.clear()
            batch_bytes = 0
    sock.sendall(b"".join(batch))


async def through_queue(
    sock: socket.socket,
    put_all: Callable[[Waiting], Awaitable[None]],
    send: Callable[[asyncio.StreamWriter, Waiting], Awaitable[None]],
) -> None:
    """Have one task put messages, and None, into a bounded queue, and another one send them."""
    _, writer = await asyncio.open_connection(sock=sock)
    waiting: Waiting = asyncio.Queue(QUEUE_MESSAGES)
    await asyncio.gather(put_all(waiting), send(writer, waiting))
    writer.close()
    await writer.wait_closed()


async def join_queued(writer: asyncio.StreamWriter, waiting: Waiting) -> None:
    """Send what comes out of a queue within 10 µs, or 64 KiB of it, as one."""
    message = await waiting.get()
    while message is not None:
        deadline_ns = time.monotonic_ns() + HOLD_NS
        batch: list[bytes] = []
        batch_bytes = 0
        while message is not None:
            batch.append(message)
            batch_bytes += len(message)
            left_ns = deadline_ns - time.monotonic_ns()
            if batch_bytes >= MAX_BATCH_BYTES or left_ns <= 0:
                break
            try:
                message = waiting.get_nowait()
            except asyncio.QueueEmpty:
                try:
                    async with asyncio.timeout(left_ns / 1e9):
                        message = await waiting.get()
                except TimeoutError:
                    break
        writer.write(b"".join(batch))
        await writer.drain()
        if message is not None:
            message = await waiting.get()
