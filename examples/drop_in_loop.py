"""A program that knows nothing of tinygram, on an event loop that coalesces for it.

`tinygram.new_event_loop` is the only line to change: every TCP, TLS and Unix connection of the loop
holds small messages back, whoever opens it, a library of yours too.
"""

from __future__ import annotations

import asyncio

import tinygram

COUNT = 1000


async def count_lines(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say how many lines came."""
    lines = [line async for line in reader]
    writer.write(b"%d lines\n" % len(lines))
    writer.close()


async def main() -> None:
    """Plain asyncio."""
    server = await asyncio.start_server(count_lines, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for number in range(COUNT):
            writer.write(b"%d\n" % number)
        writer.write_eof()
        print((await reader.readline()).decode().strip())
        writer.close()
        transport = writer.transport
        assert isinstance(transport, tinygram.Transport)
        print(f"few writes: {transport.stats().writes < COUNT / 10}")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=tinygram.new_event_loop) as runner:
        runner.run(main())
