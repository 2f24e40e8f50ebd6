"""Hazards of writing around what holds: a file, or the end, is handed to the transport below."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.library.setups import LONG, Connector, Recorder, Setup, receive, receive_rest
from tests.library.wires import STALLED, Pair

import tinygram


class BreaksDown(io.BytesIO):
    """A file whose second read fails."""

    reads = 0

    def readinto(self, buffer: object, /) -> int:
        self.reads += 1
        if self.reads > 1:
            raise OSError("the disk is gone")
        return super().readinto(buffer)  # type: ignore[arg-type]


def fill(ours: socket.socket) -> int:
    """Have the kernel take no more, and nobody above know it; how many bytes that was."""
    ours.setblocking(False)
    filled = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            filled += ours.send(b"R" * 1000)
    return filled


def take_all(peer: socket.socket) -> bytes:
    """What is there, before the loop runs again."""
    peer.setblocking(False)
    received = bytearray()
    with contextlib.suppress(BlockingIOError):
        while chunk := peer.recv(1 << 20):
            received += chunk
    return bytes(received)


@pytest.mark.parametrize("make_file", [io.BytesIO, BreaksDown])
@pytest.mark.parametrize("strategy", [tinygram.adaptive, tinygram.nodelay, LONG], ids=str)
def test_a_file_in_memory_is_not_overtaken(
    unix_pair: Pair, strategy: tinygram.Strategy, make_file: Callable[[bytes], io.BytesIO]
) -> None:
    """`sendfile`'s fallback leaves its last bytes in the transport below, after it has ended."""
    ours, peer = unix_pair
    file = make_file(b"S" * 16_384)

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        filled = fill(ours)
        loop = asyncio.get_running_loop()
        sending = asyncio.create_task(loop.sendfile(transport, file))
        await asyncio.wait([sending], timeout=2)
        # The peer catches up; the loop sees of it only what happened before.
        received = take_all(peer)
        if not sending.done():
            received += await receive(peer, filled + 16_384 - len(received))
            await asyncio.wait([sending])
        assert isinstance(sending.exception(), OSError if make_file is BreaksDown else type(None))
        transport.write(b"A" * 100)
        transport.close()
        received += await receive_rest(peer)
        assert received == b"R" * filled + b"S" * 16_384 + b"A" * 100

    Setup("loop-asyncio").run(program, strategy=strategy)


@pytest.mark.parametrize("strategy", [tinygram.adaptive, tinygram.nodelay, LONG], ids=str)
def test_a_second_file_while_the_first_is_on_its_way(
    unix_pair: Pair, strategy: tinygram.Strategy, tmp_path: Path
) -> None:
    """The failure of the second let writes go into the middle of the first."""
    ours, peer = unix_pair
    (tmp_path / "first").write_bytes(b"S" * STALLED)
    (tmp_path / "second").write_bytes(b"T")

    async def send_both(connect: Connector, first: BinaryIO, second: BinaryIO) -> None:
        transport = await connect.protocol(Recorder(), ours)
        loop = asyncio.get_running_loop()
        sendings = [asyncio.create_task(loop.sendfile(transport, first))]
        await asyncio.sleep(0.02)
        sendings.append(asyncio.create_task(loop.sendfile(transport, second)))
        await asyncio.wait(sendings[1:], timeout=0.2)
        assert not sendings[0].done()
        received = take_all(peer)  # Now the kernel has room for a write.
        written = b""
        with contextlib.suppress(RuntimeError):  # asyncio does so: a file is on its way.
            transport.write(b"A" * 100_000)
            written = b"A" * 100_000
        reading = asyncio.create_task(receive_rest(peer))
        await asyncio.wait(sendings)
        assert await sendings[0] == STALLED
        transport.close()
        received += await reading
        assert received[:STALLED].count(b"S") == STALLED
        behind = b"" if sendings[1].exception() else b"T"
        assert received[STALLED:] in (behind + written, written + behind)

    async def program(connect: Connector) -> None:
        with (tmp_path / "first").open("rb") as first, (tmp_path / "second").open("rb") as second:
            await send_both(connect, first, second)

    Setup("loop-asyncio").run(program, strategy=strategy)


KINDS: dict[str, Callable[[bytes], bytearray | memoryview]] = {
    "bytearray": bytearray,
    "memoryview": lambda data: memoryview(bytearray(data)),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_buffer_that_changes_after_a_write_that_follows_close(
    setup: Setup, unix_pair: Pair, kind: Callable[[bytes], bytearray | memoryview]
) -> None:
    """What the transport below keeps, and sends later, was the caller's buffer and no copy."""
    ours, peer = unix_pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(bytes(STALLED))
        transport.close()
        buffer = kind(b"original")
        transport.write(buffer)
        buffer[:] = b"CHANGED!"
        received = await receive_rest(peer)
        assert received[STALLED:] in (b"", b"original")

    setup.run(program)
