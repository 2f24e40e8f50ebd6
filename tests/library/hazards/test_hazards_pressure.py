"""Hazards of pressure: a reader that stalls bounds the writer, and never ties anybody up."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from functools import cache
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
    wait_for,
)
from tests.library.wires import LONGEST_S, Pair, anonymous, receive_all

import tinygram

BOUND = 100_000
BUFFER_BYTES = 128 << 10
"""What each buffer of a narrow pair is asked to hold; Linux gives twice as much, and no more."""
STALLED = 1 << 20
"""More bytes than all buffers of a narrow pair hold."""


@pytest.fixture(params=["unix", "tcp"])
def narrow(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """The same as `pair`, with buffers that do not grow, and so are soon full."""
    if request.param == "unix":
        ours, peer = map(narrowed, socket.socketpair())
    else:
        # An accepted socket inherits the listener's buffers, whose size is told when connecting.
        with narrowed(socket.socket()) as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            ours = narrowed(socket.socket())
            ours.connect(listening.getsockname())
            peer, _ = listening.accept()
    ours.settimeout(LONGEST_S)
    peer.settimeout(LONGEST_S)
    with ours, peer:
        yield ours, peer


def narrowed(sock: socket.socket) -> socket.socket:
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
    return sock


@cache
def numbered() -> bytes:
    """Almost as many bytes: numbers of ten bytes each, none of them twice."""
    return b"".join(b"%09d;" % number for number in range(STALLED // 10))


@pytest.mark.parametrize("yields", [False, True], ids=["in one go", "over iterations"])
@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_stalled_reader_with_a_bound(
    setup: Setup, narrow: Pair, strategy: tinygram.Strategy, yields: bool
) -> None:
    """cpython #127655: memory grew without bound. Here: BufferError; what was accepted arrives."""
    ours, peer = narrow

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        accepted = bytearray()
        for _ in range(3):
            faults: list[str] = []
            while len(faults) < 10:
                message = b"%09d;" % transport.stats().messages * 100
                try:
                    transport.write(message)
                    accepted += message
                except BufferError as error:
                    faults.append(str(error))
                # The same again may be on its way through the transport below.
                assert transport.get_write_buffer_size() <= 2 * BOUND
                if yields:
                    await asyncio.sleep(0)
            assert all("1000 more would exceed max_buffered_bytes" in fault for fault in faults)
            assert await receive(peer, len(accepted)) == accepted
            await wait_for(lambda: transport.get_write_buffer_size() == 0)
            accepted.clear()
        transport.close()
        assert await receive_rest(peer) == b""
        assert await protocol.lost is None

    setup.run(program, strategy=strategy, max_buffered_bytes=BOUND)


def test_after_a_refusal_drain_waits_for_room(setup: Setup, narrow: Pair) -> None:
    """The bound may lie below the water mark: `drain` must wait all the same."""
    ours, peer = narrow
    sent = numbered()

    async def program(connect: Connector) -> None:
        _, writer = await connect.streams(ours)
        reading: asyncio.Task[bytes] | None = None
        refusals = 0
        for at in range(0, len(sent), 100):
            while True:
                try:
                    writer.write(sent[at : at + 100])
                    break
                except BufferError:
                    refusals += 1
                    assert refusals < 10_000, "drain returns though there is no room"
                    reading = reading or asyncio.create_task(receive_rest(peer))
                    await writer.drain()
        writer.close()
        assert reading is not None, "the reader never stalled"
        assert await reading == sent

    setup.run(program, max_buffered_bytes=1000)


def test_who_waits_when_paused_is_never_refused(setup: Setup, narrow: Pair) -> None:
    """Writing is paused before the bound is reached, wherever the water marks lie."""
    ours, peer = narrow
    sent = numbered()

    async def program(connect: Connector) -> None:
        _, writer = await connect.streams(ours)
        reading = asyncio.create_task(receive_rest(peer))
        for at in range(0, len(sent), 1000):
            writer.write(sent[at : at + 1000])
            await writer.drain()
        writer.close()
        assert await reading == sent

    setup.run(program, max_buffered_bytes=2500)


class WritesWhenResumed(Recorder):
    """Its marks are below what a handshake of TLS leaves to be sent."""

    transport: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.transport.set_write_buffer_limits(high=10, low=0)
        self.transport.write(b"some")

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.told.count("resume") == 1:
            self.transport.write(b"more" * 250)


def test_who_writes_when_resumed_in_the_middle_of_a_write_is_resumed_again(setup: Setup) -> None:
    """TLS may end a pause inside `write`. The protocol was paused for what it wrote then, though
    that left at once, and nobody ended the pause."""
    received: list[bytes] = []

    def connect(port: int) -> None:
        context = anonymous(ssl.PROTOCOL_TLS_CLIENT)
        with (
            socket.create_connection(("127.0.0.1", port)) as tcp,
            context.wrap_socket(tcp) as encrypted,
        ):
            received.append(receive_all(encrypted))

    async def program(_: Connector) -> None:
        loop = asyncio.get_running_loop()
        protocol = WritesWhenResumed()
        options: Any = {"ssl": anonymous(ssl.PROTOCOL_TLS_SERVER)}
        if setup.is_ours:
            server = await loop.create_server(lambda: protocol, "127.0.0.1", 0, **options)
        else:
            options["max_buffered_bytes"] = BOUND
            server = await tinygram.create_server(loop, lambda: protocol, "127.0.0.1", 0, **options)
        port = server.sockets[0].getsockname()[1]
        client = threading.Thread(target=connect, args=[port], daemon=True)
        client.start()
        await wait_for(lambda: hasattr(protocol, "transport"))
        await wait_for(lambda: protocol.transport.get_write_buffer_size() == 0)
        assert protocol.told.count("pause") == protocol.told.count("resume")
        protocol.transport.close()
        await protocol.lost
        server.close()
        await asyncio.to_thread(client.join, 60)

    setup.run(program, max_buffered_bytes=BOUND)
    assert received[0].startswith(b"some")


def test_a_message_that_never_fits_is_refused_as_such(setup: Setup, pair: Pair) -> None:
    """Waiting would not help: nobody is paused, and what else is written goes its way."""
    ours, peer = pair

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        with pytest.raises(BufferError, match="1001 bytes is larger than max_buffered_bytes"):
            transport.write(bytes(1001))
        transport.write(bytes(1000))
        assert await receive(peer, 1000) == bytes(1000)
        assert protocol.told == []
        transport.close()

    setup.run(program, max_buffered_bytes=1000)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_stalled_reader_without_a_bound(
    setup: Setup, narrow: Pair, strategy: tinygram.Strategy
) -> None:
    """cpython #127655: `pause_writing` is called, once; what is held counts."""
    ours, peer = narrow

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        low, high = transport.get_write_buffer_limits()
        sent = 0
        while not protocol.told:
            transport.write(bytes(1000))
            sent += 1000
            assert transport.get_write_buffer_size() <= high + 1000
            if not protocol.told:  # Else the kernel might take more of it meanwhile.
                await asyncio.sleep(0)
        assert protocol.told == ["pause"]
        assert transport.get_write_buffer_size() > low
        await receive(peer, sent)
        await wait_for(lambda: len(protocol.told) > 1)
        assert protocol.told == ["pause", "resume"]
        assert transport.get_write_buffer_size() <= low

    setup.run(program, strategy=strategy)


def test_a_stalled_reader_of_a_connection_that_is_being_closed(setup: Setup, narrow: Pair) -> None:
    """cpython #127655: also where messages are held by the event loop's own transport alone."""
    ours, peer = narrow

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.set_write_buffer_limits(high=2 * STALLED)
        transport.write(bytes(STALLED))
        transport.close()
        assert protocol.told == []
        for _ in range(3):
            transport.write(bytes(STALLED))
        assert protocol.told == ["pause"]
        assert await receive_rest(peer) == bytes(4 * STALLED)
        await protocol.lost

    setup.run(program)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_both_sides_only_write(setup: Setup, narrow: Pair, strategy: tinygram.Strategy) -> None:
    """go-redis #4002: each waited for the other to read. A transport reads while it writes."""
    total = STALLED

    class Writes(Recorder):
        is_paused = False

        def pause_writing(self) -> None:
            self.is_paused = True

        def resume_writing(self) -> None:
            self.is_paused = False

    async def write_all(protocol: Writes, transport: Any) -> None:
        for _ in range(total // 16384):
            transport.write(bytes(16384))
            while protocol.is_paused:
                await asyncio.sleep(0.001)

    async def program(connect: Connector) -> None:
        ends = [Writes(), Writes()]
        transports = [
            await connect.protocol(end, sock) for end, sock in zip(ends, narrow, strict=True)
        ]
        await asyncio.gather(*map(write_all, ends, transports))
        await wait_for(lambda: all(len(end.received) == total for end in ends))
        for transport in transports:
            transport.close()

    setup.run(program, strategy=strategy)


@pytest.mark.parametrize("strategy", [LONG, tinygram.tick, tinygram.adaptive], ids=str)
def test_cancellation_never_removes_half_a_frame(
    setup: Setup, pair: Pair, strategy: tinygram.Strategy
) -> None:
    """A task that is cancelled while it waits in `drain` has written its frame, and wholly."""
    ours, peer = pair

    async def program(connect: Connector) -> None:
        _, writer = await connect.streams(ours)

        async def send(number: int) -> None:
            frame = b"%08d" % number * 16384
            writer.write(frame[:10])
            writer.write(frame[10:])
            await writer.drain()

        writer.transport.set_write_buffer_limits(high=1000)
        tasks = [asyncio.create_task(send(number)) for number in range(100)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        reading = asyncio.create_task(receive(peer, 100 * 8 * 16384))
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert asyncio.CancelledError in map(type, results), "nobody was waiting"
        assert await reading == b"".join(b"%08d" % number * 16384 for number in range(100))
        writer.close()

    setup.run(program, strategy=strategy)
