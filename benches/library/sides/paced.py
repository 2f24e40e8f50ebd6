"""1,000 messages a second: `python -m library.sides.paced RUNTIME WAY PORT COUNT`.

Prints its start.

RUNTIME is loop, asyncio or uvloop; WAY is directly or tinygram. When each message is due is laid
down beforehand, and the bench's own source waits for it, in the same way whoever sends.
"""

from __future__ import annotations

import asyncio
import socket
import sys

from library.sides.connection import Connection
from library.sides.sending import (
    MESSAGE_BYTES,
    SEED,
    WARM_UP,
    new_loop,
    schedule,
    stay_on_core,
    warmed_up,
)

import tinygram
from tinygram_bench._native import MessagePool, Pacer
from tinygram_bench.load.source import AsyncSource, Source


def main() -> None:
    runtime, way, port, count = sys.argv[1:]
    stay_on_core()
    source = _source(int(count))
    sock = warmed_up(int(port))
    if runtime != "loop":
        with asyncio.Runner(loop_factory=lambda: new_loop(runtime, way == "tinygram")) as runner:
            runner.run(_send_on_loop(sock, source))
    elif way == "tinygram":
        _send_batched(sock, source)
    else:
        _send(sock, source)
    print(source.start_ns)


def _source(count: int) -> Source:
    """What is due and when; the warm-up was sent, and has settled."""
    pool = MessagePool(SEED, MESSAGE_BYTES, MESSAGE_BYTES)
    return Source(pool, WARM_UP, count, Pacer(*schedule(count)), lambda: True, lambda: None)


def _send(sock: socket.socket, source: Source) -> None:
    with sock:
        source.wait_started()
        while (burst := source.next_burst()) is not None:
            for message in burst:
                sock.sendall(message)


def _send_batched(sock: socket.socket, source: Source) -> None:
    with sock, tinygram.batch(sock) as out:
        source.wait_started()
        while (burst := source.next_burst(out.deadline_ns)) is not None:
            for message in burst:
                out.send(message)
            out.poll()


async def _send_on_loop(sock: socket.socket, source: Source) -> None:
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection, sock=sock
    )
    source.wait_started()
    due = AsyncSource(source)
    while (burst := await due.next_burst()) is not None:
        for message in burst:
            transport.write(message)
    transport.close()
    await connection.wait_closed()


if __name__ == "__main__":
    main()
