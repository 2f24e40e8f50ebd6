"""Waits for each echo: `python -m library.sides.ping_pong RUNTIME WAY ENDS PORT COUNT`.

RUNTIME is loop, asyncio or uvloop; WAY is directly or tinygram; ENDS is apart or same: the core
that `far_ends.py` was put on, which is no concern here. Prints the time from each message to its
echo, ns; an echo that is not what was sent ends it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Iterable
from typing import cast

from library.sides.sending import (
    MESSAGE_BYTES,
    connected,
    new_loop,
    settle,
    stay_on_core,
    stream_messages,
)

import tinygram


def main() -> None:
    runtime, way, _, port, count = sys.argv[1:]
    stay_on_core()
    messages = stream_messages(int(count))
    sock = connected(int(port))
    settle()
    if runtime != "loop":
        with asyncio.Runner(loop_factory=lambda: new_loop(runtime, way == "tinygram")) as runner:
            trips_ns = runner.run(_on_loop(sock, messages))
    elif way == "tinygram":
        trips_ns = _batched(sock, messages)
    else:
        trips_ns = _directly(sock, messages)
    print(*trips_ns)


def _directly(sock: socket.socket, messages: Iterable[bytes]) -> list[int]:
    trips_ns = []
    echo = bytearray(MESSAGE_BYTES)
    with sock:
        for message in messages:
            start_ns = time.monotonic_ns()
            sock.sendall(message)
            read_bytes = sock.recv_into(echo, MESSAGE_BYTES, socket.MSG_WAITALL)
            trips_ns.append(time.monotonic_ns() - start_ns)
            _check(echo, read_bytes, message)
    return trips_ns


def _batched(sock: socket.socket, messages: Iterable[bytes]) -> list[int]:
    trips_ns = []
    echo = bytearray(MESSAGE_BYTES)
    with sock, tinygram.batch(sock) as out:
        for message in messages:
            start_ns = time.monotonic_ns()
            out.send(message)
            out.flush()
            read_bytes = sock.recv_into(echo, MESSAGE_BYTES, socket.MSG_WAITALL)
            trips_ns.append(time.monotonic_ns() - start_ns)
            _check(echo, read_bytes, message)
    return trips_ns


def _check(echo: bytearray, read_bytes: int, message: bytes) -> None:
    if read_bytes != len(message) or echo != message:
        raise SystemExit("an echo is not what was sent")


class PingPong(asyncio.Protocol):
    """Sends the next message when the echo of the last is complete."""

    def __init__(self, messages: Iterable[bytes]) -> None:
        self._messages = iter(messages)
        self._message = self._echo = b""
        self._sent_ns = 0
        self.trips_ns: list[int] = []
        self.is_wrong = False
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._echo += data
        if len(self._echo) < len(self._message):
            return
        self.trips_ns.append(time.monotonic_ns() - self._sent_ns)
        if self._echo == self._message:
            self.send()
        else:
            self.is_wrong = True
            self._transport.abort()

    def send(self) -> None:
        """Send the next one, or close."""
        message = next(self._messages, None)
        if message is None:
            self._transport.close()
            return
        self._message = message
        self._echo = b""
        self._sent_ns = time.monotonic_ns()
        self._transport.write(message)

    def connection_lost(self, _reason: Exception | None) -> None:
        self.ended.set()


async def _on_loop(sock: socket.socket, messages: Iterable[bytes]) -> list[int]:
    protocol = PingPong(messages)
    await asyncio.get_running_loop().create_connection(lambda: protocol, sock=sock)
    protocol.send()
    await protocol.ended.wait()
    if protocol.is_wrong:
        raise SystemExit("an echo is not what was sent")
    return protocol.trips_ns


if __name__ == "__main__":
    main()
