"""One message per iteration: `python -m library.sides.single LOOP WAY PORT COUNT`.

Prints its start. LOOP is asyncio or uvloop; WAY is directly or tinygram. As many as it can, so that
there is nothing to gather and only the cost of asking remains.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Iterable

from library.sides.connection import Connection
from library.sides.sending import new_loop, stay_on_core, stream_messages, warmed_up


def main() -> None:
    name, way, port, count = sys.argv[1:]
    stay_on_core()
    messages = stream_messages(int(count))
    sock = warmed_up(int(port))
    with asyncio.Runner(loop_factory=lambda: new_loop(name, way == "tinygram")) as runner:
        print(runner.run(_send(sock, messages)))


async def _send(sock: socket.socket, messages: Iterable[bytes]) -> int:
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection, sock=sock
    )
    start_ns = time.monotonic_ns()
    for message in messages:
        transport.write(message)
        await asyncio.sleep(0)
        if not connection.has_room:
            await connection.wait_room()
    transport.close()
    await connection.wait_closed()
    return start_ns


if __name__ == "__main__":
    main()
