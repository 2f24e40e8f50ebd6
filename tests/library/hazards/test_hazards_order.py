"""Hazards of order: whoever writes, and whatever comes between, bytes leave in their order."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.library.setups import (
    LONG,
    STRATEGIES,
    Connector,
    Recorder,
    Setup,
    receive,
    receive_rest,
)
from tests.library.wires import STALLED, Pair, anonymous, receive_all, receive_exactly

import tinygram


class WritesInCallbacks(Recorder):
    """Answers every callback with a write; `sent` is what the peer is to receive."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self.transport: Any = None

    def send(self, data: bytes) -> None:
        self.sent += data
        self.transport.write(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.send(b"<written while pausing>")

    def resume_writing(self) -> None:
        super().resume_writing()
        self.send(b"<written while resuming>")


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_write_inside_a_callback_of_a_flush(
    setup: Setup, pair: Pair, strategy: tinygram.Strategy
) -> None:
    """Netty #9923: what was written during a flush stayed behind until the next one."""
    ours, peer = pair

    async def program(connect: Connector) -> None:
        protocol = WritesInCallbacks()
        protocol.transport = transport = await connect.protocol(protocol, ours)
        received = 0
        for stall in range(1, 4):
            while protocol.told.count("pause") < stall:
                protocol.send(b"0123456789" * 2000)
                protocol.send(b"and a small one")
                await asyncio.sleep(0)
            while protocol.told.count("resume") < stall or received < len(protocol.sent):
                expected = bytes(protocol.sent[received:])
                assert await receive(peer, len(expected)) == expected
                received += len(expected)
                await asyncio.sleep(0)
        assert transport.get_write_buffer_size() == 0
        transport.close()
        assert await protocol.lost is None

    setup.run(program, strategy=strategy)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_kernel_that_takes_a_little_at_a_time(
    setup: Setup, unix_pair: Pair, strategy: tinygram.Strategy
) -> None:
    """cpython #103463: a partial write must not repeat, skip or reorder bytes."""
    ours, peer = unix_pair
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    messages = [b"%d;" % number * (1 + number % 97) for number in range(400)]
    expected = b"".join(messages)

    async def program(connect: Connector) -> None:
        _, writer = await connect.streams(ours)
        reading = asyncio.create_task(read_slowly())
        for number, message in enumerate(messages):
            writer.write(message)
            if number % 5 == 0:
                await asyncio.sleep(0)
        writer.close()
        assert await reading == expected

    async def read_slowly() -> bytes:
        received = bytearray()
        while len(received) < len(expected):
            count = min(1 + len(received) % 601, len(expected) - len(received))
            received += await receive(peer, count)
        return bytes(received)

    setup.run(program, strategy=strategy)


@pytest.mark.parametrize("stalls", [False, True], ids=["held", "stalled"])
def test_a_buffer_used_again_after_write(setup: Setup, unix_pair: Pair, stalls: bool) -> None:
    """A mutable buffer is copied, wherever its bytes wait."""
    ours, peer = unix_pair
    before = bytes(STALLED) if stalls else b""

    async def program(connect: Connector) -> None:
        _, writer = await connect.streams(ours)
        writer.write(before)
        buffer = bytearray(b"first ")
        writer.write(buffer)
        buffer[:] = b"second"
        writer.write(memoryview(buffer))
        writer.writelines([buffer, memoryview(buffer)])
        buffer.clear()  # BufferError if it were still exported.
        writer.close()
        received = await receive_rest(peer)
        assert received[len(before) :] == b"first secondsecondsecond"

    setup.run(program, strategy=LONG)


def test_a_file_after_held_bytes(setup: Setup, tcp: Pair, tmp_path: Path) -> None:
    """`loop.sendfile` writes to the descriptor itself: what is held goes first."""
    ours, peer = tcp
    (tmp_path / "file").write_bytes(b"file " * 100_000)

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(b"before ")
        transport.write(b"the ")
        loop = asyncio.get_running_loop()
        reading = asyncio.create_task(receive_rest(peer))
        with (tmp_path / "file").open("rb") as file:
            if setup.name == "loop-asyncio":
                await loop.sendfile(transport, file)
                sent = b"file " * 100_000
            else:  # uvloop has no sendfile, and a stock loop knows no transports but its own.
                with pytest.raises((NotImplementedError, RuntimeError)):
                    await loop.sendfile(transport, file)
                sent = b""
        before = transport.stats()
        for _ in range(10):
            transport.write(b" after")
        after = transport.stats()
        assert (after.messages, after.writes) == (before.messages + 10, before.writes)
        transport.close()
        assert await reading == b"before the " + sent + b" after" * 10

    setup.run(program, strategy=LONG)


@pytest.mark.parametrize("strategy", [LONG, tinygram.tick, tinygram.adaptive], ids=str)
def test_tls_after_held_bytes(setup: Setup, tcp: Pair, strategy: tinygram.Strategy) -> None:
    """STARTTLS: what is held leaves in the clear, and what follows never does."""
    ours, peer = tcp
    received: list[bytes] = []

    def serve() -> None:
        received.append(receive_exactly(peer, 18))
        context = anonymous(ssl.PROTOCOL_TLS_SERVER)
        with context.wrap_socket(peer, server_side=True) as encrypted:
            received.append(encrypted.recv(11) + encrypted.recv(11))
            encrypted.sendall(b"got it")
            received.append(receive_all(encrypted))

    async def program(connect: Connector) -> None:
        reader, writer = await connect.streams(ours)
        writer.write(b"before ")
        writer.write(b"encryption;")
        await writer.start_tls(anonymous(ssl.PROTOCOL_TLS_CLIENT), ssl_handshake_timeout=60)
        assert isinstance(writer.transport, tinygram.Transport)
        if strategy is LONG:
            writer.write(b"after ")
            writer.write(b"it;  ")
            writer.transport.set_write_buffer_limits(high=0)  # Nothing is held from here on.
            writer.write(b"and on that")
        else:
            writer.write(b"after it;  and on that")
        assert await reader.readexactly(6) == b"got it"
        writer.write(b"last")
        writer.close()
        await writer.wait_closed()

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    setup.run(program, strategy=strategy)
    server.join(timeout=60)
    assert received == [b"before encryption;", b"after it;  and on that", b"last"]
