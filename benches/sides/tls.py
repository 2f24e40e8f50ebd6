"""Sends flat out under TLS on asyncio: `python -m sides.tls WAY PORT COUNT`; prints its start.

64 messages per iteration. The first 1,024 warm the connection up; `far_ends.py` notes the end.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import time

from sides.connection import Connection
from sides.flat_out import Bursts
from sides.sending import WARM_UP, bursts, connected, new_loop, settle, stay_on_core


def main() -> None:
    way, port, count = sys.argv[1:]
    stay_on_core()
    warm_up, what = bursts(WARM_UP, 0), bursts(int(count))
    with asyncio.Runner(loop_factory=lambda: new_loop("asyncio", way == "tinygram")) as runner:
        print(runner.run(_send(int(port), warm_up, what)))


async def _send(port: int, warm_up: Bursts, what: Bursts) -> int:
    transport, connection = await _connect(port)
    await _write_each(transport, connection, warm_up)
    await asyncio.sleep(0.1)
    settle()
    start_ns = time.monotonic_ns()
    await _write_each(transport, connection, what)
    transport.close()
    await connection.wait_closed()
    return start_ns


async def _connect(port: int) -> tuple[asyncio.WriteTransport, Connection]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    loop = asyncio.get_running_loop()
    return await loop.create_connection(
        Connection, sock=connected(port), ssl=context, server_hostname=""
    )


async def _write_each(
    transport: asyncio.WriteTransport, connection: Connection, what: Bursts
) -> None:
    for burst in what:
        for message in burst:
            transport.write(message)
        await asyncio.sleep(0)
        if not connection.has_room:
            await connection.wait_room()


if __name__ == "__main__":
    main()
