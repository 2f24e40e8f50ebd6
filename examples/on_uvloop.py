"""The same drop-in on uvloop: a protocol that echoes, and a client that asks in small pieces.

`new_event_loop` takes the loop's class and the knobs of all its connections.
"""

from __future__ import annotations

import asyncio
from functools import partial

import uvloop

import tinygram


class Echo(asyncio.Protocol):
    """Sends back what comes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport is one of ours, and any `asyncio.Transport` to its users."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answers of one iteration leave together."""
        self.transport.write(data)


async def main() -> None:
    """Ask and listen."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Echo, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for piece in (b"a ", b"question ", b"in ", b"pieces"):
            writer.write(piece)
        writer.write_eof()
        print((await reader.read()).decode())
        writer.close()


if __name__ == "__main__":
    new_loop = partial(tinygram.new_event_loop, uvloop.Loop, strategy=tinygram.adaptive)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
