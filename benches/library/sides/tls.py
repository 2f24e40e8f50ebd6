"""Sends flat out under TLS on asyncio: `python -m library.sides.tls WAY PORT COUNT`.

Prints its start. WAY is directly, join (by hand) or tinygram; 64 messages per iteration. The first
1,024 warm the connection up; `far_ends.py` notes the end.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import time

from library.sides.connection import Bursts, Connection, joining, write_each
from library.sides.sending import WARM_UP, connected, new_loop, settle, stay_on_core, stream_bursts


def main() -> None:
    way, port, count = sys.argv[1:]
    stay_on_core()
    warm_up, bursts = stream_bursts(WARM_UP, 0), stream_bursts(int(count))
    with asyncio.Runner(loop_factory=lambda: new_loop("asyncio", way == "tinygram")) as runner:
        print(runner.run(_send(way, int(port), warm_up, bursts)))


async def _send(way: str, port: int, warm_up: Bursts, bursts: Bursts) -> int:
    transport, connection = await _connect(port)
    write = joining(transport.write) if way == "join" else transport.write
    await write_each(write, connection, warm_up)
    await asyncio.sleep(0.1)
    settle()
    start_ns = time.monotonic_ns()
    await write_each(write, connection, bursts)
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


if __name__ == "__main__":
    main()
