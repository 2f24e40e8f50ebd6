"""Hazards of the end: the last byte arrives, or an error says that it did not."""

from __future__ import annotations

import asyncio
import contextlib
import socket

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
from tests.library.wires import STALLED, Pair, reset, waiting_bytes

import tinygram


@pytest.mark.parametrize("strategy", [*STRATEGIES.values(), LONG], ids=str)
def test_the_last_byte_arrives_at_close(
    setup: Setup, pair: Pair, strategy: tinygram.Strategy
) -> None:
    """nats.go #333, tokio #2484: what was written last was lost when the connection closed."""
    ours, peer = pair

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        for number in range(100):
            transport.write(b"%d;" % number)
        transport.write(b"the last byte.")
        transport.close()
        assert transport.is_closing()
        assert (await receive_rest(peer)).endswith(b";98;99;the last byte.")
        assert await protocol.lost is None
        assert transport.stats().bytes == len(b"".join(b"%d;" % n for n in range(100))) + 14

    setup.run(program, strategy=strategy)


def test_the_last_byte_arrives_at_close_after_a_stall(setup: Setup, pair: Pair) -> None:
    ours, peer = pair

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(bytes(STALLED))
        await asyncio.sleep(0)
        transport.write(b"held behind it")
        transport.close()
        received = await receive_rest(peer)
        assert (len(received), received[-14:]) == (STALLED + 14, b"held behind it")
        assert await protocol.lost is None

    setup.run(program)


def test_the_end_of_our_stream_comes_after_what_is_held(setup: Setup, pair: Pair) -> None:
    ours, peer = pair

    async def program(connect: Connector) -> None:
        reader, writer = await connect.streams(ours)
        writer.write(b"question")
        writer.write_eof()
        assert await receive_rest(peer) == b"question"
        peer.send(b"answer")
        assert await reader.readexactly(6) == b"answer"
        writer.close()

    setup.run(program, strategy=LONG)


def test_the_peer_s_end_of_stream_lets_what_is_held_go(setup: Setup, pair: Pair) -> None:
    """The event loop closes by itself when `eof_received` returns False."""
    ours, peer = pair

    class SaysGoodbye(Recorder):
        transport: tinygram.Transport

        def eof_received(self) -> bool:
            self.transport.write(b"goodbye")
            return super().eof_received()

    async def program(connect: Connector) -> None:
        protocol = SaysGoodbye()
        protocol.transport = transport = await connect.protocol(protocol, ours)
        transport.write(b"held; ")
        peer.shutdown(socket.SHUT_WR)
        assert await receive_rest(peer) == b"held; goodbye"
        assert await protocol.lost is None

    setup.run(program, strategy=LONG)


def test_abort_drops_what_is_held(setup: Setup, unix_pair: Pair) -> None:
    ours, peer = unix_pair

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(b"held")
        transport.abort()
        assert await protocol.lost is None
        assert await receive_rest(peer) == b""

    setup.run(program, strategy=LONG)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_reset_in_the_middle_of_a_batch(
    setup: Setup, tcp: Pair, strategy: tinygram.Strategy
) -> None:
    """The protocol is told; later writes neither fail in a new way nor reach another file."""
    ours, peer = tcp

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        number = ours.fileno()
        transport.pause_reading()  # A write must meet the reset, not a read.
        transport.write(b"arrives")
        assert await receive(peer, 7) == b"arrives"
        transport.write(b"first of a batch")
        reset(peer)
        transport.write(b"more of it")
        while not protocol.lost.done():
            transport.write(b"and more")
            await asyncio.sleep(0)
        assert isinstance(await protocol.lost, ConnectionError)
        assert transport.is_closing()
        await wait_for(lambda: ours.fileno() == -1)
        check_later_writes(transport, number)
        await asyncio.sleep(0.002)

    setup.run(program, strategy=strategy)


def check_later_writes(transport: tinygram.Transport, number: int) -> None:
    """Writes to a connection that is gone; `number` was its descriptor's."""
    others = [socket.socketpair() for _ in range(4)]
    assert number in {end.fileno() for pair in others for end in pair}
    for size in (1, 100_000):
        # A uvloop transport that is gone raises RuntimeError; asyncio's ignores the write.
        with contextlib.suppress(RuntimeError):
            transport.write(bytes(size))
    with contextlib.suppress(RuntimeError):
        transport.writelines([b"two", b"parts"])
    transport.close()
    transport.abort()
    assert transport.get_write_buffer_size() == 0
    assert [waiting_bytes(end) for pair in others for end in pair] == [0] * 8
    for pair in others:
        for end in pair:
            end.close()


def test_a_reset_of_a_peer_that_sends_nothing_is_told_while_we_only_hold(
    setup: Setup, tcp: Pair
) -> None:
    """What is held when the loop finds the reset itself is reported, not dropped in silence."""
    ours, peer = tcp

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(b"held")
        reset(peer)
        assert isinstance(await protocol.lost, ConnectionError)
        assert protocol.told == ["lost"]

    setup.run(program, strategy=LONG)
