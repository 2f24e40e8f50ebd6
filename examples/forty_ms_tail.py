"""A server whose answers take 40 ms on loopback, and two ways to mend it.

It answers each request in four small writes, through a listening socket that the program made
itself. asyncio does not set TCP_NODELAY on the connections of such a socket, so Nagle's algorithm
holds the second write until the client has acknowledged the first, which its kernel delays.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import statistics
import time
from collections.abc import Callable

import tinygram

REQUESTS = 40
CHUNKS = [b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n", b"a\n", b"b\n", b"c\n"]
ANSWER_BYTES = sum(map(len, CHUNKS))


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, nodelay: bool) -> None:
    """Answer each line in as many writes as there are chunks."""
    if nodelay:
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    async for _ in reader:
        for chunk in CHUNKS:
            writer.write(chunk)
        await writer.drain()
    writer.close()


async def median_ms(nodelay: bool) -> float:
    """Serve one client; return its median time of a request, without those of a new connection."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    serve = functools.partial(answer, nodelay=nodelay)
    async with await asyncio.start_server(serve, sock=listener):
        times_ms = await asyncio.to_thread(ask, listener.getsockname())
    return statistics.median(times_ms[REQUESTS // 2 :])


def ask(address: tuple[str, int]) -> list[float]:
    """Make the requests one after another, each in one write."""
    times_ms = []
    with socket.create_connection(address) as connection:
        for _ in range(REQUESTS):
            before = time.perf_counter()
            connection.sendall(b"GET\n")
            missing = ANSWER_BYTES
            while missing:
                missing -= len(connection.recv(missing))
            times_ms.append((time.perf_counter() - before) * 1e3)
    return times_ms


def show(name: str, nodelay: bool, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Say whether the median request waited for a delayed acknowledgement, some 40 ms."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        waits = runner.run(median_ms(nodelay)) > 20
    print(f"{name}: {'40 ms a request' if waits else 'no wait'}")


if __name__ == "__main__":
    show("asyncio", nodelay=False, new_loop=asyncio.new_event_loop)
    show("asyncio and TCP_NODELAY", nodelay=True, new_loop=asyncio.new_event_loop)
    show("tinygram's loop", nodelay=False, new_loop=tinygram.new_event_loop)
