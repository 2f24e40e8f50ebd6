"""Round trips on event loops by turns: `python -m round_trips_by_turns ROUND CYCLES LOAD…`.

A way is an event loop with the transports of somebody, and has both ends on that one loop: a client
with one message in flight, and a server that sends back what it reads. All ways are up in this
process, on one core. A slice is some round trips of one way; in a cycle each has a slice, in a new
random order. LOAD is `tls` or `plain`, the writes of a message and its bytes: `tls:1:256`. Prints a
JSON list per slice: way, load, ns of CPU time a round trip.

With both ends on one thread, which never waits for anybody, CPU time is all that a round trip takes
where nothing else runs; and what else runs on that core is not in it.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import ssl
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import aiofastnet
from library.sides.sending import connected, listening, new_loop, settle, stay_on_core
from pairs import side_by_side

from tinygram_bench.runs.slices import PACED_SLICE_NS, SETTLING_SHARE
from tinygram_bench.tls.certificates import SERVER_NAME, new_identity
from tinygram_bench.tls.contexts import client_context, server_context

LOOPS = ("asyncio", "uvloop")
_CIPHER = "ECDHE-ECDSA-AES128-GCM-SHA256"
_BUFFER_BYTES = 256 << 10
"""What an end reads at a time, and what the kernel takes of it; of both as aiofastnet has it."""
_GROWTH = 4
_FEWEST = 8


class Load(NamedTuple):
    """What a round trip is: of how many bytes, and by how many writes the client sends them."""

    is_tls: bool
    writes: int
    message_bytes: int

    @classmethod
    def of(cls, words: str) -> Self:
        kind, writes, message_bytes = words.split(":")
        return cls(kind == "tls", int(writes), int(message_bytes))

    def __str__(self) -> str:
        return f"{'tls' if self.is_tls else 'plain'}:{self.writes}:{self.message_bytes}"

    def parts(self) -> list[bytes]:
        """The message as it is written; all of its bytes are equal.

        The server writes from the buffer that it reads into, and uvloop looks into what it was
        given only later: other bytes would not come back in their order.
        """
        return [b"x" * (self.message_bytes // self.writes)] * self.writes


class _End(asyncio.BufferedProtocol):
    def __init__(self) -> None:
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._buffer


class Server(_End):
    def buffer_updated(self, nbytes: int) -> None:
        self.transport.write(self._buffer[:nbytes])


class Client(_End):
    """Sends a message when the one before is back, as often as it is told to."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._parts: Sequence[bytes] = ()
        self._message_bytes = self._left_bytes = self._left = 0
        self._done: asyncio.Future[None] = loop.create_future()
        self._done.set_result(None)

    def exchange(self, parts: Sequence[bytes], count: int) -> asyncio.Future[None]:
        """Begin so many round trips; the future is done after the last one."""
        self._parts, self._left = parts, count
        self._message_bytes = sum(map(len, parts))
        self._done = self._loop.create_future()
        self._send()
        return self._done

    def buffer_updated(self, nbytes: int) -> None:
        self._left_bytes -= nbytes
        if self._left_bytes:
            return
        self._left -= 1
        if self._left:
            self._send()
        else:
            self._done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("the server closed the connection"))

    def _send(self) -> None:
        self._left_bytes = self._message_bytes
        for part in self._parts:
            self.transport.write(part)


DIRECTLY, TINYGRAM, AIOFASTNET = "", "/tinygram", "/aiofastnet"
"""How the names of ways end, which begin with the loop's: whose transports they are."""
WAYS = tuple(f"{loop}{end}" for loop in LOOPS for end in (DIRECTLY, TINYGRAM, AIOFASTNET))


def _new_loop(way: str) -> asyncio.AbstractEventLoop:
    name = way.partition("/")[0]
    loop = new_loop(name, way == name + TINYGRAM)
    return aiofastnet.patch_loop(loop) if way == name + AIOFASTNET else loop


class Side:
    """A way: its loop, and a connection with TLS and one without."""

    def __init__(self, way: str, contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
        self.way = way
        self._loop = _new_loop(way)
        self._servers: list[asyncio.Server] = []  # A server that nobody has is closed.
        self._clients: dict[bool, Client] = {}
        for is_tls, ends in ((True, contexts), (False, (None, None))):
            server, client = self._loop.run_until_complete(_connected(self._loop, *ends))
            self._servers.append(server)
            self._clients[is_tls] = client

    def turn(self, load: Load, count: int) -> float:
        """Measure round trips, in ns each. Others before them settle the way, unmeasured."""
        return self._loop.run_until_complete(self._take(load, count))

    def calibrated(self, load: Load) -> int:
        """How many round trips make a slice; the way is warm when that is found."""
        count = _FEWEST
        while (took_ns := count * self.turn(load, count)) < PACED_SLICE_NS / 2:
            count *= _GROWTH
        return max(_FEWEST, round(count * PACED_SLICE_NS / took_ns))

    def end(self) -> None:
        """Let the loop's generators end; its connections end with this process."""
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())

    async def _take(self, load: Load, count: int) -> float:
        client, parts = self._clients[load.is_tls], load.parts()
        await client.exchange(parts, 1 + round(count * SETTLING_SHARE))
        start_ns = time.thread_time_ns()
        await client.exchange(parts, count)
        return (time.thread_time_ns() - start_ns) / count


async def _connected(
    loop: asyncio.AbstractEventLoop,
    of_server: ssl.SSLContext | None,
    of_client: ssl.SSLContext | None,
) -> tuple[asyncio.Server, Client]:
    listener = listening()
    _set_buffer(listener)
    server = await loop.create_server(Server, sock=listener, ssl=of_server)
    sock = connected(listener.getsockname()[1])
    _set_buffer(sock)
    name = None if of_client is None else SERVER_NAME
    _, client = await loop.create_connection(
        lambda: Client(loop), sock=sock, ssl=of_client, server_hostname=name
    )
    return server, client


def _set_buffer(sock: socket.socket) -> None:
    """Set the send buffer of a listening socket, which its connections inherit."""
    # The kernel doubles what it is told.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES // 2)


def _contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Version and encryption are those of aiofastnet's benchmark; the certificate is ours."""
    identity = new_identity()
    found = server_context(identity), client_context(identity.certificate)
    for context in found:
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(_CIPHER)
    return found


def main() -> None:
    round, cycles, *loads = sys.argv[1:]
    stay_on_core()
    contexts = _contexts()
    sides = [Side(way, contexts) for way in WAYS]
    settle()
    dice = random.Random(int(round))
    for load in map(Load.of, loads):
        turns = {each.way: partial(each.turn, load, each.calibrated(load)) for each in sides}
        for way, slices_ns in side_by_side(turns, int(cycles), dice).items():
            for slice_ns in slices_ns:
                print(json.dumps([way, str(load), slice_ns]))
    for each in sides:
        each.end()


if __name__ == "__main__":
    main()
