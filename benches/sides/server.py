"""A server under test: `python -m sides.server LOOP WAY`; prints `listening PORT`.

It answers each request with a reply and a write of its own; both are 100 bytes.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import cast

import tinygram
from sides.sending import MESSAGE_BYTES, stay_on_core
from tinygram.bench.runtimes.event_loops import loop_factory

_REPLY = b"r" * MESSAGE_BYTES


class Answering(asyncio.Protocol):
    """One connection; a request may arrive in pieces."""

    def __init__(self) -> None:
        self._incomplete_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        requests, self._incomplete_bytes = divmod(self._incomplete_bytes + len(data), MESSAGE_BYTES)
        write = self._transport.write
        for _ in range(requests):
            write(_REPLY)


def main() -> None:
    loop, way = sys.argv[1:]
    stay_on_core()
    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        runner.run(_serve(way))


async def _serve(way: str) -> None:
    loop = asyncio.get_running_loop()
    listening = socket.create_server(("127.0.0.1", 0))
    if way == "tinygram":
        server = await tinygram.create_server(loop, Answering, sock=listening)
    else:
        server = await loop.create_server(Answering, sock=listening)
    print("listening", listening.getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    main()
