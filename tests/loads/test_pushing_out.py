"""What the kernel withholds of a sender between slices, and at their beginning, leaves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence

import pytest

from tinygram_bench._native import MessagePool, Pacer
from tinygram_bench.loads.async_source import AsyncSource
from tinygram_bench.loads.source import Source

MS = 1_000_000
SLICES = ([0, 40 * MS, 80 * MS], 5 * MS, 0)
PER_SLICE = 5
MESSAGE = b"message"


@pytest.fixture
def corked() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A sender whose cork holds for 200 ms, and its receiver."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        receiver, _ = listener.accept()
    with sender, receiver:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        receiver.setblocking(False)
        yield sender, receiver


def source_of(sender: socket.socket) -> Source:
    pacer = Pacer(1_000.0, "constant", 1, 15 * MS, 1, None, "never", SLICES, sender.fileno())
    pool = MessagePool(1, len(MESSAGE), len(MESSAGE))
    return Source(pool, 0, 3 * PER_SLICE, pacer, lambda: True, lambda: None)


def received(receiver: socket.socket) -> bytes:
    try:
        return receiver.recv(1_000)
    except BlockingIOError:
        return b""


class Sent:
    """Sends bursts, and checks before each what has come of those before it."""

    def __init__(self, sender: socket.socket, receiver: socket.socket) -> None:
        self._sender, self._receiver = sender, receiver
        self._sent = self._left = 0

    def send(self, burst: Sequence[bytes]) -> None:
        first_of_slice = self._sent - self._sent % PER_SLICE
        is_next_slice = first_of_slice == self._sent
        if is_next_slice or self._left == self._sent - first_of_slice:
            self.check()
        for message in burst:
            self._sender.sendall(message)
        self._sent += len(burst)
        self._left += len(burst)

    def check(self) -> None:
        """All that was sent has come."""
        assert len(received(self._receiver)) == self._left * len(MESSAGE)
        self._left = 0


def test_what_a_slice_s_first_and_last_messages_leave_withheld_comes(
    corked: tuple[socket.socket, socket.socket],
) -> None:
    source = source_of(corked[0])
    sent = Sent(*corked)
    while (burst := source.next_burst()) is not None:
        sent.send(burst)
    sent.check()


def test_on_an_event_loop_too(corked: tuple[socket.socket, socket.socket]) -> None:
    async def send() -> None:
        source = AsyncSource(source_of(corked[0]))
        sent = Sent(*corked)
        while (burst := await source.next_burst()) is not None:
            sent.send(burst)
        sent.check()

    asyncio.run(send())
