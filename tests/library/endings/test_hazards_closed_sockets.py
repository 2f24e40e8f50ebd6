"""Hazards of a program that closes the socket which it gave to make a connection of.

asyncio's own transport has sent by then what was written, and the end of the stream follows at
once.
uvloop keeps the socket open until the connection ends.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import socket
import ssl
import time
import warnings
from collections.abc import Awaitable, Callable
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
from tests.library.wires import LONGEST_S, Pair, anonymous, finish, start_python, waiting_bytes

import tinygram

Make = Callable[[asyncio.BaseProtocol, socket.socket], Awaitable[Any]]

ON_ASYNCIO = ("opened-asyncio", "loop-asyncio")
A_WHILE = tinygram.coalesce(20_000)
"""Longer than a program takes to close a socket."""


@pytest.fixture(params=ON_ASYNCIO)
def on_asyncio(request: pytest.FixtureRequest) -> Setup:
    """Where a socket that the program closes is closed."""
    return Setup(request.param)


class Others:
    """Other files, which take the numbers that are free now; nothing may reach them."""

    def __init__(self) -> None:
        self._pairs = [socket.socketpair() for _ in range(8)]

    def close(self) -> None:
        """AssertionError if anything came."""
        received = [waiting_bytes(end) for pair in self._pairs for end in pair]
        for pair in self._pairs:
            for end in pair:
                end.close()
        assert received == [0] * len(received)


@pytest.mark.parametrize("strategy", [*STRATEGIES.values(), A_WHILE], ids=str)
def test_bytes_written_around_the_close_reach_no_other_connection(
    setup: Setup, pair: Pair, strategy: tinygram.Strategy
) -> None:
    ours, peer = pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(b"hello, ")
        transport.write(b"held, ")
        ours.close()
        others = Others()
        transport.write(b"SECRET")
        await asyncio.sleep(0.05)
        later = Others()
        for _ in range(3):
            transport.write(b"SECRET")
            transport.write(b"SECRET")
            await asyncio.sleep(0.001)
        transport.abort()
        received = await receive_rest(peer)
        assert received in [b"hello, held, " + b"SECRET" * count for count in range(8)]
        others.close()
        later.close()

    setup.run(program, strategy=strategy)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_what_was_written_in_a_socket_s_block_arrives_and_then_the_stream_ends(
    on_asyncio: Setup, strategy: tinygram.Strategy
) -> None:
    async def program(connect: Connector) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            ours = socket.create_connection(listening.getsockname())
            peer, _ = listening.accept()
        with ours:
            _, writer = await connect.streams(ours)
            for number in range(3):
                writer.write(b"message %d;" % number)
        with peer:
            assert await receive_rest(peer) == b"message 0;message 1;message 2;"
        assert ours.fileno() == -1
        writer.transport.abort()

    on_asyncio.run(program, strategy=strategy)


def test_an_idle_connection_ends_at_once(on_asyncio: Setup, pair: Pair) -> None:
    """A descriptor of our own would keep the end of the stream from the peer."""
    ours, peer = pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        for _ in range(2):
            transport.write(b"hello")
        assert await receive(peer, 10) == b"hellohello"
        await asyncio.sleep(0.005)
        ours.close()
        peer.settimeout(LONGEST_S)
        assert peer.recv(1) == b""
        transport.abort()

    on_asyncio.run(program)


async def end_of_late_writes(make: Make, ours: socket.socket) -> tuple[type, int | None]:
    """Why a connection is lost that is written to after its socket was closed."""
    protocol = Recorder()
    transport, *_ = await make(protocol, ours)
    ours.close()
    while not protocol.lost.done():
        transport.write(b"late")
        await asyncio.sleep(0.001)
    error = await protocol.lost
    return type(error), getattr(error, "errno", None)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_write_after_the_close_ends_the_connection_as_on_asyncio(
    on_asyncio: Setup, strategy: tinygram.Strategy
) -> None:
    async def stock() -> tuple[type, int | None]:
        async def make(protocol: asyncio.BaseProtocol, sock: socket.socket) -> Any:
            loop = asyncio.get_running_loop()
            return await loop.create_connection(lambda: protocol, sock=sock)

        return await end_of_late_writes(make, pairs[0][0])

    async def program(connect: Connector) -> tuple[type, int | None]:
        async def make(protocol: asyncio.BaseProtocol, sock: socket.socket) -> Any:
            return (await connect.protocol(protocol, sock),)

        return await end_of_late_writes(make, pairs[1][0])

    pairs = [socket.socketpair() for _ in range(2)]
    try:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            expected = runner.run(stock())
        assert on_asyncio.run(program, strategy=strategy) == expected == (OSError, errno.EBADF)
    finally:
        for ours, peer in pairs:
            ours.close()
            peer.close()


def test_what_follows_the_close_during_a_hold_leaves_with_it(on_asyncio: Setup, pair: Pair) -> None:
    ours, peer = pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(b"held, ")
        ours.close()
        transport.write(b"and later")
        transport.close()
        assert await receive_rest(peer) == b"held, and later"

    on_asyncio.run(program, strategy=LONG)


@pytest.mark.parametrize("method", ["connect_accepted_socket", "create_unix_connection"])
def test_a_socket_that_another_method_took(unix_pair: Pair, method: str) -> None:
    ours, peer = unix_pair

    async def program(_: Connector) -> None:
        make = getattr(asyncio.get_running_loop(), method)
        transport, _ = await make(asyncio.Protocol, sock=ours)
        transport.write(b"held")
        ours.close()
        others = Others()
        await asyncio.sleep(0.05)
        others.close()
        assert await receive_rest(peer) == b"held"
        transport.abort()

    Setup("loop-asyncio").run(program, strategy=A_WHILE)


def test_what_is_held_above_encryption_arrives(on_asyncio: Setup) -> None:
    async def program(connect: Connector) -> None:
        received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            received.set_result(await reader.readexactly(15))
            writer.transport.abort()

        encrypted = anonymous(ssl.PROTOCOL_TLS_SERVER)
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=encrypted)
        async with server:
            with socket.create_connection(server.sockets[0].getsockname()) as ours:
                _, writer = await connect.streams(ours)
                await writer.start_tls(anonymous(ssl.PROTOCOL_TLS_CLIENT))
                writer.write(b"held, ")
                writer.write(b"encrypted")
            assert await received == b"held, encrypted"
            writer.transport.abort()

    on_asyncio.run(program, strategy=A_WHILE)


def test_a_socket_that_is_detached_during_a_hold(on_asyncio: Setup, pair: Pair) -> None:
    """Its descriptor is somebody else's, and the protocol is told of the loss."""
    ours, _ = pair

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(b"held")
        os.close(ours.detach())
        others = Others()
        error = await protocol.lost
        others.close()
        assert isinstance(error, OSError)
        assert error.errno == errno.EBADF
        assert transport.is_closing()

    on_asyncio.run(program, strategy=A_WHILE)


@pytest.mark.parametrize("is_aborted", [True, False])
def test_a_socket_is_closed_with_the_connection_that_held(
    on_asyncio: Setup, pair: Pair, is_aborted: bool
) -> None:
    ours, peer = pair

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(b"held")
        if is_aborted:
            transport.abort()
        else:
            transport.close()
        await protocol.lost
        await asyncio.sleep(0)
        assert ours.fileno() == -1
        assert await receive_rest(peer) == (b"" if is_aborted else b"held")

    on_asyncio.run(program, strategy=LONG)


def test_a_transport_that_is_forgotten_while_it_holds_leaves_the_socket_to_the_program(
    pair: Pair,
) -> None:
    ours, peer = pair
    loop = asyncio.SelectorEventLoop()

    async def program(loop: asyncio.AbstractEventLoop) -> None:
        transport, _ = await tinygram.create_connection(
            loop, asyncio.Protocol, sock=ours, strategy=LONG
        )
        transport.write(b"held")

    loop.run_until_complete(program(loop))
    loop.close()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del loop
        gc.collect()
    assert any("4 bytes" in str(one.message) for one in warned)
    ours.close()
    assert peer.recv(1) == b""


def test_a_closed_socket_leaves_the_loop_at_rest(on_asyncio: Setup, pair: Pair) -> None:
    """A file that lives on would be ready for ever, and nobody would be told of it."""
    ours, peer = pair

    async def program(connect: Connector) -> float:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(b"hello, ")
        transport.write(b"held")
        ours.close()
        peer.send(b"unread")
        assert await receive(peer, 11) == b"hello, held"
        await asyncio.sleep(0.005)
        start_s = time.process_time()
        await asyncio.sleep(0.5)
        used_s = time.process_time() - start_s
        transport.abort()
        return used_s

    assert on_asyncio.run(program) < 0.25


CHILD = """
import asyncio, os, signal, tinygram

async def main():
    ours, peer = socket.socketpair()
    _, writer = await tinygram.open_connection(sock=ours, strategy=tinygram.coalesce(60e6))
    writer.write(b"held")
    child = os.fork()
    if child == 0:
        ours.close()
        signal.pause()
    writer.close()
    await writer.wait_closed()
    peer.settimeout(60)
    print(b"".join(iter(lambda: peer.recv(100), b"")))
    os.kill(child, signal.SIGKILL)

with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
    runner.run(main())
"""


def test_a_child_process_that_closes_its_socket_does_not_keep_the_stream_from_its_end(
    unix_pair: Pair,
) -> None:
    """What the parent holds must not keep the child's socket open."""
    ours, _ = unix_pair
    printed, _ = finish(start_python(CHILD, ours), 0)
    assert printed == "b'held'\n"
