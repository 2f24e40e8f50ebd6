"""A server and a client with streams, on whichever event loop runs.

`tinygram.start_server` and `tinygram.open_connection` take what asyncio's functions of these names
take, and the library's knobs beside. Readers and writers are asyncio's own.
"""

from __future__ import annotations

import asyncio

import tinygram


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each line in three small writes, which leave as one."""
    async for line in reader:
        writer.write(b"you said ")
        writer.write(line.strip().upper())
        writer.write(b"\n")
        await writer.drain()
    writer.close()


async def main() -> None:
    """Ask twice."""
    server = await tinygram.start_server(answer, "127.0.0.1", 0, strategy=tinygram.tick)
    assert isinstance(server, asyncio.Server)
    async with server:
        host, port = server.sockets[0].getsockname()
        reader, writer = await tinygram.open_connection(host, port)
        for word in (b"hello", b"goodbye"):
            writer.write(word + b"\n")
            print((await reader.readline()).decode().strip())
        writer.close()
        await writer.wait_closed()


if __name__ == "__main__":
    asyncio.run(main())
