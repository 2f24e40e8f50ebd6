"""Hazards of holding: no hold outlasts its reason, and none costs a descriptor of its own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import threading
import weakref
from pathlib import Path

import pytest
from tests.library.preloads import compiled, run_with
from tests.library.setups import LONG, STRATEGIES, Connector, Recorder, Setup, receive, wait_for
from tests.library.wires import Pair, receive_exactly, waiting_bytes

import tinygram


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_request_leaves_before_the_loop_waits_for_its_reply(
    setup: Setup, pair: Pair, strategy: tinygram.Strategy
) -> None:
    """Ping-pong: nothing follows the request, so that nothing but the loop can let it go."""
    ours, peer = pair

    def echo() -> None:
        with contextlib.suppress(OSError):
            while data := peer.recv(1000):
                peer.sendall(data)

    async def program(connect: Connector) -> None:
        reader, writer = await connect.streams(ours)
        for number in range(50):
            for part in (b"%d" % number, b" in ", b"parts\n"):
                writer.write(part)
            assert await reader.readline() == b"%d in parts\n" % number
        writer.close()
        await writer.wait_closed()

    answering = threading.Thread(target=echo, daemon=True)
    answering.start()
    setup.run(program, strategy=strategy)
    answering.join(timeout=60)
    assert not answering.is_alive()


def test_one_write_for_the_messages_of_an_iteration(setup: Setup, pair: Pair) -> None:
    ours, peer = pair

    async def program(connect: Connector) -> None:
        _, writer = await connect.streams(ours)
        for _ in range(100):
            writer.write(b"message;")
        assert waiting_bytes(peer) == 0
        assert await receive(peer, 800) == b"message;" * 100
        stats = stats_of(writer)
        assert (stats.messages, stats.writes, stats.bytes) == (100, 1, 800)
        writer.close()

    setup.run(program, strategy=tinygram.tick)


def test_a_hold_ends_though_nothing_follows(setup: Setup, pair: Pair) -> None:
    """A timer ends it, and not before its time."""
    ours, peer = pair

    async def program(connect: Connector) -> None:
        _, writer = await connect.streams(ours)
        for _ in range(3):
            writer.write(b"held ")
            writer.write(b"back")
            assert await receive(peer, 9) == b"held back"
        stats = stats_of(writer)
        assert (stats.writes, stats.flushes["deadline"]) == (3, 3)
        assert stats.holds.count == 3
        assert stats.holds.min_ns >= 0.9 * 5_000_000  # A histogram of one digit.
        writer.close()

    setup.run(program, strategy=tinygram.coalesce(5_000))


def test_a_hundred_connections_share_one_timer(setup: Setup) -> None:
    async def program(connect: Connector) -> None:
        first, *others = [socket.socketpair() for _ in range(100)]
        writers = [(await connect.streams(first[0]))[1]]
        writers[0].write(b"held")
        assert await receive(first[1], 4) == b"held"
        gc.collect()  # Another test's timer must not go in between.
        before = open_timers()
        assert before >= 1
        writers += [(await connect.streams(ours))[1] for ours, _ in others]
        for writer in writers:
            writer.write(b"held")
        for _, peer in (first, *others):
            assert await receive(peer, 4) == b"held"
        assert open_timers() == before
        for writer, (_, peer) in zip(writers, (first, *others), strict=True):
            writer.close()
            peer.close()

    setup.run(program, strategy=tinygram.coalesce(2_000))


def open_timers() -> int:
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    kinds = [os.readlink(link) for link in links if os.path.lexists(link)]
    return kinds.count("anon_inode:[timerfd]")


def test_a_closed_loop_leaves_nothing_behind(setup: Setup) -> None:
    """Loops come and go (a test suite has thousands): neither memory nor descriptors stay."""

    def run_once() -> weakref.ref[asyncio.AbstractEventLoop]:
        ours, peer = socket.socketpair()

        async def program(connect: Connector) -> weakref.ref[asyncio.AbstractEventLoop]:
            _, writer = await connect.streams(ours)
            writer.write(b"held")
            assert await receive(peer, 4) == b"held"
            writer.close()
            await writer.wait_closed()
            return weakref.ref(asyncio.get_running_loop())

        with ours, peer:
            return setup.run(program, strategy=tinygram.coalesce(100))

    run_once()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    loops = [run_once() for _ in range(5)]
    gc.collect()
    assert [loop() for loop in loops] == [None] * 5
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_thread_that_does_not_run_the_loop_may_not_write(setup: Setup, pair: Pair) -> None:
    """asyncio's transports are no threads' business; a silent race would lose bytes."""
    ours, peer = pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        loop = asyncio.get_running_loop()
        transport.write(b"held; ")
        for arguments in ((b"wrong",), (bytearray(b"wrong"),), (b"wrong" * 100_000,)):
            with pytest.raises(RuntimeError, match="call_soon_threadsafe"):
                await loop.run_in_executor(None, transport.write, *arguments)
        with pytest.raises(RuntimeError, match="call_soon_threadsafe"):
            await loop.run_in_executor(None, transport.writelines, [b"wrong"])
        await loop.run_in_executor(
            None, loop.call_soon_threadsafe, transport.write, b"the right way"
        )
        transport.close()
        assert await receive(peer, 19) == b"held; the right way"
        assert transport.stats().messages == 2

    setup.run(program, strategy=LONG)


def test_a_loop_may_move_to_another_thread(setup: Setup, pair: Pair) -> None:
    ours, peer = pair
    loop = setup.new_loop(strategy=LONG)
    connect = setup.connector(strategy=LONG)
    transport = loop.run_until_complete(make(connect, ours))
    transport.write(b"from the first thread; ")

    async def write() -> None:
        transport.write(b"from the second")
        transport.close()

    thread = threading.Thread(target=lambda: loop.run_until_complete(write()), daemon=True)
    thread.start()
    thread.join(timeout=60)
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    expected = b"from the first thread; from the second"
    assert receive_exactly(peer, len(expected)) == expected


def stats_of(writer: asyncio.StreamWriter) -> tinygram.Stats:
    assert isinstance(writer.transport, tinygram.Transport)
    return writer.transport.stats()


async def make(connect: Connector, sock: socket.socket) -> tinygram.Transport:
    transport: tinygram.Transport = await connect.protocol(Recorder(), sock)
    return transport


def test_nothing_is_held_twice(setup: Setup, unix_pair: Pair) -> None:
    """uvloop's `create_connection`, given a Unix socket, calls `create_unix_connection`: ours."""
    ours, _ = unix_pair
    accepted: list[tinygram.Transport] = []

    class Accepted(Recorder):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, tinygram.Transport)
            accepted.append(transport)

    async def program(connect: Connector) -> None:
        transport = await make(connect, ours)
        loop = asyncio.get_running_loop()
        listening, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        listening.bind("")  # A name of the kernel's choice.
        server: asyncio.AbstractServer
        if setup.is_ours:
            server = await loop.create_server(Accepted, sock=listening)
        else:
            server = await tinygram.create_server(loop, Accepted, sock=listening)
        client.connect(listening.getsockname())
        await wait_for(lambda: bool(accepted))
        for made in (transport, accepted[0]):
            assert repr(made).count("tinygram") == 1
            made.abort()
        client.close()
        server.close()

    setup.run(program)


@pytest.fixture(scope="module")
def stepped_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that, preloaded, has time go on by 1 µs whenever it is asked."""
    return compiled("stepped_clock", tmp_path_factory.mktemp("preloaded"))


def test_a_loop_that_sends_as_fast_as_it_can_holds_for_300_us_at_most(
    setup: Setup, stepped_clock: Path
) -> None:
    """It never waits here, and is told so on our selector alone; messages tell it on all."""
    told = run_with(stepped_clock, "busy_loop.py", setup.name)
    max_ns, median_ns = map(int, told.split())
    assert 250_000 < median_ns <= max_ns < 320_000
