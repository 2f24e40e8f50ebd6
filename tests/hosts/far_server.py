"""A server of `tinygram serve` within the test, whose peers may be taken for strangers."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import tinygram
from tinygram_bench.far.limits import Limits
from tinygram_bench.far.server import Server
from tinygram_bench.host.write_counter import counting
from tinygram_bench.hosts.keys import Keys
from tinygram_bench.hosts.wire import VERSION

LIMIT_S = 60.0
LIMITS = Limits(
    time_s=600.0,
    processes=8,
    memory_bytes=1 << 30,
    connections=100,
    bytes=1 << 40,
    rate_bytes_per_s=1e12,
    clients=1,
)
HELLO = {"type": "Hello", "version": VERSION, "tinygram": tinygram.__version__}


@contextmanager
def far_server(keys: Keys | None = None, limits: Limits = LIMITS) -> Iterator[int]:
    """Its port on 127.0.0.1."""
    loop = asyncio.new_event_loop()
    listener = socket.create_server(("127.0.0.1", 0))
    with counting() as library:

        def run() -> None:
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(serving)

        serving = loop.create_task(Server(limits, keys, library).run(listener))
        thread = threading.Thread(target=run, name="far-server")
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            loop.call_soon_threadsafe(serving.cancel)
            thread.join()
            loop.run_until_complete(_cancelled(loop))
            loop.close()
            listener.close()


async def _cancelled(loop: asyncio.AbstractEventLoop) -> None:
    others = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def line_of(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def connected(port: int) -> socket.socket:
    """A connection that has been greeted."""
    sock = socket.create_connection(("127.0.0.1", port), LIMIT_S)
    greeting = b""
    while not greeting.endswith(b"\n"):
        byte = sock.recv(1)
        assert byte, "it was not greeted"
        greeting += byte
    assert greeting.startswith(f"tinygram serve {VERSION} ".encode())
    return sock


def answer_of(sock: socket.socket) -> dict[str, object]:
    """The next line that it says."""
    line = b""
    while not line.endswith(b"\n"):
        part = sock.recv(1)
        assert part, line
        line += part
    found = json.loads(line)
    assert isinstance(found, dict)
    return found


def welcomed(port: int) -> socket.socket:
    """A connection whose turn it is."""
    return with_token(port)[0]


def with_token(port: int) -> tuple[socket.socket, bytes]:
    """A connection whose turn it is, and its token."""
    sock = connected(port)
    sock.sendall(line_of(HELLO))
    while (answer := answer_of(sock))["type"] == "Queued":
        pass
    assert answer["type"] == "Welcome", answer
    return sock, base64.b64decode(str(answer["token"]))


def all_of(sock: socket.socket) -> bytes:
    """What comes until the server ends the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while part := sock.recv(1 << 16):
            found += part
    return found


def named_child(parent: int, name: str) -> list[int]:
    """The processes with that name whose parent this one is."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:  # It has ended since it was listed.
            continue
        command, _, rest = text.partition("(")[2].rpartition(")")
        if command == name and int(rest.split()[1]) == parent:
            found.append(int(path.parent.name))
    return found
