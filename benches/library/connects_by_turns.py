"""Short connections on two event loops: `python -m library.connects_by_turns LOOP ROUNDS`.

LOOP is asyncio or uvloop, as it is and as tinygram's drop-in over it, in one process, beside a peer
on the other core that blocks. A slice is a number of connections, one after the other: connect, a
message there and back, close, and the end told on the loop's side. As `client` the loop connects,
as `server` it accepts. Each round has two slices of a role, one on each loop, whichever comes first
by chance. Prints a JSON list per slice: side, role, ns, CPU ns of the loops' thread.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from typing import Any

from library.sides.sending import new_loop, settle, stay_on_core, stay_on_far_core
from pairs import side_by_side

SIDES = ("directly", "tinygram")
ROLES = ("client", "server")
CONNECTIONS = 100
"""Connections of a slice."""
_MESSAGE = bytes(100)


class Caller(asyncio.Protocol):
    """Sends a message, and closes when it is back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ended: asyncio.Future[None] = loop.create_future()
        self.left_bytes = len(_MESSAGE)
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(_MESSAGE)

    def data_received(self, data: bytes) -> None:
        self.left_bytes -= len(data)
        if not self.left_bytes:
            self.transport.close()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.ended.set_result(None)


class Echo(asyncio.Protocol):
    """Sends back what comes; `on_end` is called when the peer has closed."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.on_end = on_end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self.on_end()


class Side:
    """A loop, the port of the peer that echoes, and a server of its own."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop, port: int) -> None:
        self.name = name
        self.loop = loop
        self.port = port
        self.left = 0
        self.done: asyncio.Future[None] = loop.create_future()
        self.server = loop.run_until_complete(
            loop.create_server(lambda: Echo(self.on_end), "127.0.0.1", 0)
        )
        self.own_port = self.server.sockets[0].getsockname()[1]

    def on_end(self) -> None:
        self.left -= 1
        if not self.left:
            self.done.set_result(None)

    def take(self, role: str, teller: socket.socket) -> list[object]:
        run = self.call if role == "client" else self.serve
        took_ns, cpu_ns = self.loop.run_until_complete(run(teller))
        return [self.name, role, took_ns, cpu_ns]

    async def call(self, _teller: socket.socket) -> tuple[int, int]:
        connect, make = self.loop.create_connection, lambda: Caller(self.loop)
        cpu_ns, start_ns = time.thread_time_ns(), time.monotonic_ns()
        for _ in range(CONNECTIONS):
            _, caller = await connect(make, "127.0.0.1", self.port)
            await caller.ended
        return time.monotonic_ns() - start_ns, time.thread_time_ns() - cpu_ns

    async def serve(self, teller: socket.socket) -> tuple[int, int]:
        self.left, self.done = CONNECTIONS, self.loop.create_future()
        cpu_ns, start_ns = time.thread_time_ns(), time.monotonic_ns()
        teller.sendall(b"%d\n" % self.own_port)
        await self.done
        return time.monotonic_ns() - start_ns, time.thread_time_ns() - cpu_ns


def main() -> None:
    name, rounds = sys.argv[1:]
    ours, theirs = socket.socketpair()
    with ours:
        peer = get_context("fork").Process(target=_peer, args=(theirs,), daemon=True)
        peer.start()
        theirs.close()
        stay_on_core()
        port = int(ours.recv(16))
        sides = [Side(side, new_loop(name, side == "tinygram"), port) for side in SIDES]
        settle()
        for role in ROLES:
            takes = {side.name: partial(side.take, role, ours) for side in sides}
            for slices in side_by_side(takes, int(rounds)).values():
                for slice in slices:
                    print(json.dumps(slice))


def _peer(teller: socket.socket) -> None:
    stay_on_far_core()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        teller.sendall(b"%d" % listener.getsockname()[1])
        threading.Thread(target=_echo, args=(listener.dup(),), daemon=True).start()
        for line in teller.makefile():
            for _ in range(CONNECTIONS):
                with socket.create_connection(("127.0.0.1", int(line))) as sock:
                    sock.sendall(_MESSAGE)
                    _read_all(sock)


def _echo(listener: socket.socket) -> None:
    while True:
        sock = listener.accept()[0]
        with sock:
            _read_all(sock)
            sock.sendall(_MESSAGE)
            sock.recv(1)


def _read_all(sock: socket.socket) -> None:
    left_bytes = len(_MESSAGE)
    while left_bytes:
        read_bytes = len(sock.recv(left_bytes))
        if not read_bytes:
            raise EOFError("the peer closed early")
        left_bytes -= read_bytes


if __name__ == "__main__":
    main()
