"""1,000 messages a second: `paced RUNTIME WAY`.

RUNTIME is loop, asyncio or uvloop; WAY is directly or tinygram. When each message is due is laid
down before a turn begins, and the bench's own source waits for it, in the same way whoever sends.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time

from library.baton import Role, Took, run_side, turns
from library.sides.connection import Connection
from library.sides.sending import Stream, message_pool, new_loop, schedule

import tinygram
from tinygram_bench._native import Pacer
from tinygram_bench.loads.async_source import AsyncSource
from tinygram_bench.loads.source import Source
from tinygram_bench.processes.orders import Orders


def main() -> int:
    return run_side(_take_turns)


def _take_turns(role: Role, orders: Orders) -> None:
    runtime, way = role.words
    stream = Stream(role.port)
    if runtime != "loop":
        with asyncio.Runner(loop_factory=lambda: new_loop(runtime, way == "tinygram")) as runner:
            runner.run(_turns_on_loop(stream, orders))
    elif way == "tinygram":
        with tinygram.batch(stream.sock) as out:
            for count in turns(orders):
                source = _source(stream, count)
                _send_batched(out, source)
                stream.wait_arrived()
                orders.say(_took(source))
    else:
        for count in turns(orders):
            source = _source(stream, count)
            _send(stream.sock, source)
            stream.wait_arrived()
            orders.say(_took(source))
    stream.end()


async def _turns_on_loop(stream: Stream, orders: Orders) -> None:
    transport, _ = await asyncio.get_running_loop().create_connection(Connection, sock=stream.sock)
    for count in turns(orders):
        source = _source(stream, count)
        await _send_on_loop(transport, source)
        await stream.wait_arrived_meanwhile()
        orders.say(_took(source))


def _source(stream: Stream, count: int) -> Source:
    """The stream's next messages, and when they are due; what went ahead has arrived."""
    ahead = stream.messages.taken
    stream.messages.taken += count
    pacer = Pacer(*schedule(count))
    return Source(message_pool(), ahead, count, pacer, lambda: True, lambda: None)


def _took(source: Source) -> Took:
    start_ns = source.start_ns or 0
    return Took(start_ns, time.monotonic_ns() - start_ns)


def _send(sock: socket.socket, source: Source) -> None:
    source.wait_started()
    while (burst := source.next_burst()) is not None:
        for message in burst:
            sock.sendall(message)


def _send_batched(out: tinygram.Batch, source: Source) -> None:
    source.wait_started()
    while (burst := source.next_burst(out.deadline_ns)) is not None:
        for message in burst:
            out.send(message)
        out.poll()


async def _send_on_loop(transport: asyncio.WriteTransport, source: Source) -> None:
    source.wait_started()
    due = AsyncSource(source)
    while (burst := await due.next_burst()) is not None:
        for message in burst:
            transport.write(message)


if __name__ == "__main__":
    sys.exit(main())
