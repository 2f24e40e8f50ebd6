"""Waits for each echo: `ping_pong RUNTIME WAY ENDS`.

RUNTIME is loop, asyncio or uvloop; WAY is directly or tinygram; ENDS is apart or same: the core
that `far_ends.py` was put on, which is no concern here. What a turn costs is the median time from a
message to its echo; an echo that is not what was sent ends the side.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Iterable, Sequence
from statistics import median
from typing import cast

from library.baton import Role, Took, run_side, settling, turns
from library.sides.sending import MESSAGE_BYTES, Messages, connected, new_loop, settle

import tinygram
from tinygram_bench.processes.orders import Orders


def main() -> int:
    return run_side(_take_turns)


def _take_turns(role: Role, orders: Orders) -> None:
    runtime, way, _ = role.words
    messages = Messages()
    sock = connected(role.port)
    settle()
    if runtime != "loop":
        with asyncio.Runner(loop_factory=lambda: new_loop(runtime, way == "tinygram")) as runner:
            runner.run(_turns_on_loop(sock, messages, orders))
    elif way == "tinygram":
        with sock, tinygram.batch(sock) as out:
            for count in turns(orders):
                orders.say(_took(_batched(sock, out, messages.one_by_one(count))))
    else:
        with sock:
            for count in turns(orders):
                orders.say(_took(_directly(sock, messages.one_by_one(count))))


def _took(trips_ns: Sequence[int]) -> Took:
    return Took(0, sum(trips_ns), median(trips_ns[settling(len(trips_ns)) :]))


def _directly(sock: socket.socket, messages: Iterable[bytes]) -> list[int]:
    trips_ns = []
    echo = bytearray(MESSAGE_BYTES)
    for message in messages:
        start_ns = time.monotonic_ns()
        sock.sendall(message)
        read_bytes = sock.recv_into(echo, MESSAGE_BYTES, socket.MSG_WAITALL)
        trips_ns.append(time.monotonic_ns() - start_ns)
        _check(echo, read_bytes, message)
    return trips_ns


def _batched(sock: socket.socket, out: tinygram.Batch, messages: Iterable[bytes]) -> list[int]:
    trips_ns = []
    echo = bytearray(MESSAGE_BYTES)
    for message in messages:
        start_ns = time.monotonic_ns()
        out.send(message)
        out.flush()
        read_bytes = sock.recv_into(echo, MESSAGE_BYTES, socket.MSG_WAITALL)
        trips_ns.append(time.monotonic_ns() - start_ns)
        _check(echo, read_bytes, message)
    return trips_ns


def _check(echo: bytes | bytearray, read_bytes: int, message: bytes) -> None:
    if read_bytes != len(message) or echo != message:
        raise OSError("an echo is not what was sent")


class PingPong(asyncio.Protocol):
    """Sends the next message when the echo of the last is complete."""

    def __init__(self) -> None:
        self._message = self._echo = b""
        self._sent_ns = 0
        self._ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    async def exchange(self, messages: Iterable[bytes]) -> list[int]:
        """Send each of the messages. Returns the time from each to its echo, in ns."""
        self._messages = iter(messages)
        self._trips_ns: list[int] = []
        self._ended.clear()
        self._send()
        await self._ended.wait()
        _check(self._echo, len(self._echo), self._message)
        return self._trips_ns

    def data_received(self, data: bytes) -> None:
        self._echo += data
        if len(self._echo) < len(self._message):
            return
        self._trips_ns.append(time.monotonic_ns() - self._sent_ns)
        if self._echo == self._message:
            self._send()
        else:
            self._ended.set()

    def connection_lost(self, _reason: Exception | None) -> None:
        self._ended.set()

    def _send(self) -> None:
        """Send the next one, if there is one."""
        message = next(self._messages, None)
        if message is None:
            self._ended.set()
            return
        self._message = message
        self._echo = b""
        self._sent_ns = time.monotonic_ns()
        self._transport.write(message)


async def _turns_on_loop(sock: socket.socket, messages: Messages, orders: Orders) -> None:
    transport, protocol = await asyncio.get_running_loop().create_connection(PingPong, sock=sock)
    for count in turns(orders):
        orders.say(_took(await protocol.exchange(messages.one_by_one(count))))
    transport.close()


if __name__ == "__main__":
    sys.exit(main())
