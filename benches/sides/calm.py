"""One message at a time: `python -m sides.calm RUNTIME WAY KIND PORT COUNT`.

RUNTIME is loop, asyncio or uvloop; WAY is directly or tinygram; KIND is

- paced: 1,000 messages per second; prints when each was handed over, CLOCK_MONOTONIC ns;
- ping-pong: waits for the echo of each; prints the time from message to echo, ns;
- saturated: one message per iteration of the loop, as many as it can; prints its start.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, cast

import tinygram
from sides.connection import Connection
from sides.sending import (
    MESSAGE_BYTES,
    connected,
    messages,
    new_loop,
    settle,
    stay_on_core,
    warmed_up,
)

_GAP_NS = 1_000_000


def main() -> None:
    runtime, way, kind, port, count = sys.argv[1:]
    stay_on_core()
    what = messages(int(count))
    if kind == "ping-pong":
        sock = connected(int(port))
        settle()
    else:
        sock = warmed_up(int(port))
    if runtime == "loop":
        times_ns = _LOOP[kind](sock, way == "tinygram", what)
        sock.close()
    else:
        with asyncio.Runner(loop_factory=lambda: new_loop(runtime, way == "tinygram")) as runner:
            times_ns = runner.run(_ASYNCIO[kind](sock, what))
    print(*times_ns)


def _loop_paced(sock: socket.socket, is_ours: bool, what: Iterable[bytes]) -> list[int]:
    handed_over_ns = []
    due_ns = time.monotonic_ns()
    if not is_ours:
        for message in what:
            due_ns += _GAP_NS
            _sleep_until(due_ns)
            handed_over_ns.append(time.monotonic_ns())
            sock.sendall(message)
        return handed_over_ns
    with tinygram.batch(sock) as out:
        for message in what:
            due_ns += _GAP_NS
            while (deadline_ns := out.deadline_ns) is not None and deadline_ns < due_ns:
                _sleep_until(deadline_ns)
                out.poll()
            _sleep_until(due_ns)
            handed_over_ns.append(time.monotonic_ns())
            out.send(message)
    return handed_over_ns


def _sleep_until(at_ns: int) -> None:
    time.sleep(max(0, at_ns - time.monotonic_ns()) / 1e9)


def _loop_ping_pong(sock: socket.socket, is_ours: bool, what: Iterable[bytes]) -> list[int]:
    trips_ns = []
    echo = bytearray(MESSAGE_BYTES)
    if not is_ours:
        for message in what:
            start_ns = time.monotonic_ns()
            sock.sendall(message)
            sock.recv_into(echo, MESSAGE_BYTES, socket.MSG_WAITALL)
            trips_ns.append(time.monotonic_ns() - start_ns)
        return trips_ns
    with tinygram.batch(sock) as out:
        for message in what:
            start_ns = time.monotonic_ns()
            out.send(message)
            out.flush()
            sock.recv_into(echo, MESSAGE_BYTES, socket.MSG_WAITALL)
            trips_ns.append(time.monotonic_ns() - start_ns)
    return trips_ns


async def _connect(factory: Callable[[], Any], sock: socket.socket) -> tuple[Any, Any]:
    return await asyncio.get_running_loop().create_connection(factory, sock=sock)


async def _paced(sock: socket.socket, what: Iterable[bytes]) -> list[int]:
    transport, connection = await _connect(Connection, sock)
    handed_over_ns = []
    due_ns = time.monotonic_ns()
    for message in what:
        due_ns += _GAP_NS
        await asyncio.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        handed_over_ns.append(time.monotonic_ns())
        transport.write(message)
    transport.close()
    await connection.wait_closed()
    return handed_over_ns


async def _saturated(sock: socket.socket, what: Iterable[bytes]) -> list[int]:
    transport, connection = await _connect(Connection, sock)
    start_ns = time.monotonic_ns()
    for message in what:
        transport.write(message)
        await asyncio.sleep(0)
        if not connection.has_room:
            await connection.wait_room()
    transport.close()
    await connection.wait_closed()
    return [start_ns]


class PingPong(asyncio.Protocol):
    """Sends the next message when the echo of the last is complete."""

    def __init__(self, what: Iterable[bytes]) -> None:
        self._messages = iter(what)
        self._missing_bytes = 0
        self._sent_ns = 0
        self.trips_ns: list[int] = []
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._missing_bytes -= len(data)
        if self._missing_bytes == 0:
            self.trips_ns.append(time.monotonic_ns() - self._sent_ns)
            self.send()

    def send(self) -> None:
        """Send the next one, or close."""
        message = next(self._messages, None)
        if message is None:
            self._transport.close()
            return
        self._missing_bytes = len(message)
        self._sent_ns = time.monotonic_ns()
        self._transport.write(message)

    def connection_lost(self, _reason: Exception | None) -> None:
        self.ended.set()


async def _ping_pong(sock: socket.socket, what: Iterable[bytes]) -> list[int]:
    _, protocol = await _connect(lambda: PingPong(what), sock)
    protocol.send()
    await protocol.ended.wait()
    trips_ns: list[int] = protocol.trips_ns
    return trips_ns


_LOOP: dict[str, Callable[[socket.socket, bool, Iterable[bytes]], list[int]]] = {
    "paced": _loop_paced,
    "ping-pong": _loop_ping_pong,
}
_ASYNCIO: dict[str, Callable[[socket.socket, Iterable[bytes]], Any]] = {
    "paced": _paced,
    "ping-pong": _ping_pong,
    "saturated": _saturated,
}

if __name__ == "__main__":
    main()
