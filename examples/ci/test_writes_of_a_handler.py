"""Tests that a handler answers in one write: `pytest -p tinygram.bench.gate` runs it.

Writes are counted as system calls, so that the test says the same on every host.
"""

from __future__ import annotations

import asyncio

from tinygram.bench.gate import WriteGate

REQUESTS = 100


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The handler under test: a head and a body, which leave together."""
    while await reader.readline():
        body = b"hello"
        writer.writelines([b"%d\r\n" % len(body), body])
        await writer.drain()


def test_a_response_is_one_write(write_gate: WriteGate) -> None:
    asyncio.run(_ask(write_gate))


async def _ask(write_gate: WriteGate) -> None:
    connected: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.put_nowait(writer)
        await answer(reader, writer)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        answering = await connected.get()
        with write_gate(answering, most=1.1, messages=REQUESTS):
            for _ in range(REQUESTS):
                writer.write(b"hello?\n")
                await reader.readexactly(len(b"5\r\nhello"))
        writer.close()
        await writer.wait_closed()
