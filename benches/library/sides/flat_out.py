"""Sends flat out on an event loop: `python -m library.sides.flat_out LOOP WAY PORT COUNT`.

LOOP is asyncio or uvloop; the ways of `DROP_IN` run on the drop-in over it.
Prints when it started, CLOCK_MONOTONIC ns; the receiver notes the end.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import aiofastnet
from joining import Waiting, join_queued, through_queue
from library.sides.connection import Bursts, Connection, joining, write_each
from library.sides.sending import new_loop, stay_on_core, stream_bursts, warmed_up

import tinygram


def main() -> None:
    name, way, port, count = sys.argv[1:]
    stay_on_core()
    bursts = stream_bursts(int(count))
    sock = warmed_up(int(port))

    async def timed() -> int:
        start_ns = time.monotonic_ns()
        await WAYS[way](sock, bursts)
        return start_ns

    strategy = tinygram.tick if way == "tinygram-tick" else tinygram.adaptive
    with asyncio.Runner(loop_factory=lambda: new_loop(name, way in DROP_IN, strategy)) as runner:
        print(runner.run(timed()))


async def _directly(sock: socket.socket, bursts: Bursts) -> None:
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection, sock=sock
    )
    await write_each(transport.write, connection, bursts)
    await _close(transport, connection)


async def _aiofastnet(sock: socket.socket, bursts: Bursts) -> None:
    transport, connection = await aiofastnet.create_connection(
        asyncio.get_running_loop(), Connection, sock=sock
    )
    await write_each(transport.write, connection, bursts)
    await _close(transport, connection)


async def _tinygram_transport(sock: socket.socket, bursts: Bursts) -> None:
    """On a loop that is not ours."""
    connection = Connection()
    transport, _ = await tinygram.create_connection(
        asyncio.get_running_loop(), lambda: connection, sock=sock
    )
    await write_each(transport.write, connection, bursts)
    await _close(transport, connection)


async def _join(sock: socket.socket, bursts: Bursts) -> None:
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection, sock=sock
    )
    await write_each(joining(transport.write), connection, bursts)
    await _close(transport, connection)


async def _close(transport: asyncio.WriteTransport, connection: Connection) -> None:
    transport.close()
    await connection.wait_closed()


async def _tinygram_writer(sock: socket.socket, bursts: Bursts) -> None:
    _, writer = await asyncio.open_connection(sock=sock)
    for burst in bursts:
        for message in burst:
            writer.write(message)
        await asyncio.sleep(0)
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def _queue(sock: socket.socket, bursts: Bursts) -> None:
    async def put_all(waiting: Waiting) -> None:
        for burst in bursts:
            for message in burst:
                await waiting.put(message)
        await waiting.put(None)

    await through_queue(sock, put_all, join_queued)


WAYS: dict[str, Callable[[socket.socket, Bursts], Coroutine[Any, Any, None]]] = {
    "queue": _queue,
    "join": _join,
    "directly": _directly,
    "aiofastnet": _aiofastnet,
    "tinygram": _directly,
    "tinygram-tick": _directly,
    "tinygram-transport": _tinygram_transport,
    "tinygram-writer": _tinygram_writer,
}

DROP_IN = ("tinygram", "tinygram-tick", "tinygram-writer")

if __name__ == "__main__":
    main()
