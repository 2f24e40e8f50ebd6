"""A server under test: `python -m library.sides.server LOOP WAY`; prints `listening PORT`.

It answers each request with a reply and a write of its own; both are 100 bytes.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

from library.sides.sending import MESSAGE_BYTES, REPLY, listening, new_loop, stay_on_core


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
            write(REPLY)


def main() -> None:
    name, way = sys.argv[1:]
    stay_on_core()
    with asyncio.Runner(loop_factory=lambda: new_loop(name, way == "tinygram")) as runner:
        runner.run(_serve())


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Answering, sock=listening())
    await server.serve_forever()


if __name__ == "__main__":
    main()
