"""Sends flat out under TLS on asyncio: `tls WAY`.

WAY is directly, join (by hand) or tinygram; 64 messages per iteration. The first 1,024 warm the
connection up; `far_ends.py` notes when all arrive.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import time

from library.baton import Role, Took, run_side, turns
from library.sides.connection import Connection, joining, write_each
from library.sides.sending import WARM_UP, Messages, connected, new_loop, settle

from tinygram_bench._native import send_queue_bytes
from tinygram_bench.processes.orders import Orders

_STEP_S = 0.001
"""Longer than our strategy holds, and than an iteration of the loop takes."""
_LIMIT_S = 10.0


def main() -> int:
    return run_side(_take_turns)


def _take_turns(role: Role, orders: Orders) -> None:
    (way,) = role.words
    with asyncio.Runner(loop_factory=lambda: new_loop("asyncio", way == "tinygram")) as runner:
        runner.run(_send(way, role.port, orders))


async def _send(way: str, port: int, orders: Orders) -> None:
    messages = Messages()
    sock = connected(port)
    probe = sock.dup()
    transport, connection = await _connect(sock)
    write = joining(transport.write) if way == "join" else transport.write
    await write_each(write, connection, messages.bursts(WARM_UP))
    await _wait_sent(transport, probe)
    settle()
    for count in turns(orders):
        bursts = messages.bursts(count)
        start_ns = time.monotonic_ns()
        await write_each(write, connection, bursts)
        took_ns = time.monotonic_ns() - start_ns
        await _wait_sent(transport, probe)
        orders.say(Took(start_ns, took_ns))
    transport.close()
    await connection.wait_closed()


async def _connect(sock: socket.socket) -> tuple[asyncio.WriteTransport, Connection]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    loop = asyncio.get_running_loop()
    return await loop.create_connection(Connection, sock=sock, ssl=context, server_hostname="")


async def _wait_sent(transport: asyncio.WriteTransport, probe: socket.socket) -> None:
    """Wait until neither this process nor the kernel holds bytes: TLS hides how many there are."""
    give_up_s = time.monotonic() + _LIMIT_S
    await asyncio.sleep(_STEP_S)
    while transport.get_write_buffer_size() or send_queue_bytes(probe.fileno()):
        if time.monotonic() > give_up_s:
            raise TimeoutError(f"what was sent did not arrive in {_LIMIT_S:g} s")
        await asyncio.sleep(_STEP_S)


if __name__ == "__main__":
    sys.exit(main())
