"""A server under test: `server LOOP WAY`.

It answers each request with a reply and a write of its own; both are 100 bytes.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

from library.baton import Role, run_side
from library.sides.sending import MESSAGE_BYTES, REPLY, listening, new_loop

from tinygram_bench.processes.orders import Orders


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


def main() -> int:
    return run_side(_serve)


def _serve(role: Role, orders: Orders) -> None:
    name, way = role.words
    with asyncio.Runner(loop_factory=lambda: new_loop(name, way == "tinygram")) as runner:
        runner.run(_serve_until_ended(orders))


async def _serve_until_ended(orders: Orders) -> None:
    sock = listening()
    server = await asyncio.get_running_loop().create_server(Answering, sock=sock)
    orders.announce(sock.getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
