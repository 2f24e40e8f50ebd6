"""Sends flat out on an event loop: `flat_out LOOP WAY`.

LOOP is asyncio or uvloop; the ways of `DROP_IN` run on the drop-in over it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from functools import partial

import aiofastnet
from joining import QUEUE_MESSAGES, Waiting, join_queued
from library.baton import Role, run_side
from library.sides.connection import (
    Bursts,
    Connect,
    Connection,
    Send,
    joining,
    send_by_turns,
    write_each,
)
from library.sides.sending import Stream, new_loop

import tinygram
from tinygram import create_connection
from tinygram_bench.processes.orders import Orders


def main() -> int:
    return run_side(_take_turns)


def _take_turns(role: Role, orders: Orders) -> None:
    name, way = role.words
    stream = Stream(role.port)
    strategy = tinygram.tick if way == "tinygram-tick" else tinygram.adaptive
    with asyncio.Runner(loop_factory=lambda: new_loop(name, way in DROP_IN, strategy)) as runner:
        runner.run(send_by_turns(stream, WAYS[way], orders))


async def _directly(sock: socket.socket) -> Send:
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection, sock=sock
    )
    return partial(write_each, transport.write, connection)


async def _aiofastnet(sock: socket.socket) -> Send:
    transport, connection = await aiofastnet.create_connection(
        asyncio.get_running_loop(), Connection, sock=sock
    )
    return partial(write_each, transport.write, connection)


async def _tinygram_transport(sock: socket.socket) -> Send:
    """On a loop that is not ours."""
    connection = Connection()
    transport, _ = await create_connection(
        asyncio.get_running_loop(), lambda: connection, sock=sock
    )
    return partial(write_each, transport.write, connection)


async def _join(sock: socket.socket) -> Send:
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection, sock=sock
    )
    return partial(write_each, joining(transport.write), connection)


async def _tinygram_writer(sock: socket.socket) -> Send:
    _, writer = await asyncio.open_connection(sock=sock)

    async def send(bursts: Bursts) -> None:
        for burst in bursts:
            for message in burst:
                writer.write(message)
            await asyncio.sleep(0)
            await writer.drain()

    return send


async def _queue(sock: socket.socket) -> Send:
    _, writer = await asyncio.open_connection(sock=sock)
    waiting: Waiting = asyncio.Queue(QUEUE_MESSAGES)
    sending = asyncio.create_task(join_queued(writer, waiting))

    async def put_all(bursts: Bursts) -> None:
        for burst in bursts:
            for message in burst:
                await waiting.put(message)
        if sending.done():
            sending.result()

    return put_all


async def _one_by_one(sock: socket.socket) -> Send:
    """One message per iteration: nothing to gather, and only the cost of asking is left."""
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection, sock=sock
    )

    async def send(bursts: Bursts) -> None:
        for burst in bursts:
            for message in burst:
                transport.write(message)
                await asyncio.sleep(0)
                if not connection.has_room:
                    await connection.wait_room()

    return send


WAYS: dict[str, Connect] = {
    "queue": _queue,
    "join": _join,
    "directly": _directly,
    "directly-single": _one_by_one,
    "aiofastnet": _aiofastnet,
    "tinygram": _directly,
    "tinygram-single": _one_by_one,
    "tinygram-tick": _directly,
    "tinygram-transport": _tinygram_transport,
    "tinygram-writer": _tinygram_writer,
}

DROP_IN = ("tinygram", "tinygram-single", "tinygram-tick", "tinygram-writer")

if __name__ == "__main__":
    sys.exit(main())
