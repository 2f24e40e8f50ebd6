"""A server under test: `server LOOP WAY`, or `server LOOP WAY parted`.

It answers each request with a reply and a write of its own, both of 100 bytes; parted with two
writes, as of a header and a body.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import cast

from library.baton import Role, run_side
from library.sides.sending import MESSAGE_BYTES, REPLY, listening, new_loop

from tinygram_bench.processes.orders import Orders

_HEADER_BYTES = 40


class Answering(asyncio.Protocol):
    """One connection; a request may arrive in pieces. `parts`: those of a reply."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = parts
        self._incomplete_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        requests, self._incomplete_bytes = divmod(self._incomplete_bytes + len(data), MESSAGE_BYTES)
        write = self._transport.write
        for _ in range(requests):
            for part in self._parts:
                write(part)


def main() -> int:
    return run_side(_serve)


def _serve(role: Role, orders: Orders) -> None:
    name, way, *parted = role.words
    parts = [REPLY[:_HEADER_BYTES], REPLY[_HEADER_BYTES:]] if parted else [REPLY]
    with asyncio.Runner(loop_factory=lambda: new_loop(name, way == "tinygram")) as runner:
        runner.run(_serve_until_ended(orders, parts))


async def _serve_until_ended(orders: Orders, parts: Sequence[bytes]) -> None:
    sock = listening()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(parts), sock=sock)
    orders.announce(sock.getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
