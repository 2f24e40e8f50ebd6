"""asyncio's streams over the loop's transports: round trips, back-pressure, many at once."""

from __future__ import annotations

import asyncio

import pytest
from tests.library.conformance.channels import (
    STALLING_BYTES,
    Channel,
    make_buffers_small,
    pattern,
    turns,
)
from tests.library.conformance.streams import close, connect, serve, stream_pair


async def fill(writer: asyncio.StreamWriter, reader: asyncio.StreamWriter) -> bytes:
    """Write more than can leave while nobody reads, so that a drain must wait."""
    make_buffers_small(writer.transport)
    make_buffers_small(reader.transport)
    written = pattern(STALLING_BYTES), pattern(1_000_000)
    for chunk in written:
        writer.write(chunk)
    await turns()
    return b"".join(written)


async def test_one_byte_at_a_time_there_and_back(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        for byte in pattern(200):
            ours.writer.write(bytes([byte]))
            assert await peer.reader.readexactly(1) == bytes([byte])
            peer.writer.write(bytes([byte]))
            assert await ours.reader.readexactly(1) == bytes([byte])


async def test_many_bytes_one_at_a_time_are_one_stream(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        for byte in pattern(3_000):
            ours.writer.write(bytes([byte]))
        ours.writer.close()
        assert await peer.reader.read() == pattern(3_000)
        assert peer.reader.at_eof()


async def test_lines_and_frames_are_found_again(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        ours.writer.writelines([b"a line\n", b"half a ", b"line\n", b"frame|", b"12345"])
        await ours.writer.drain()
        assert await peer.reader.readline() == b"a line\n"
        assert await peer.reader.readline() == b"half a line\n"
        assert await peer.reader.readuntil(b"|") == b"frame|"
        assert await peer.reader.readexactly(5) == b"12345"


async def test_an_echo_of_all_sizes(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):

        async def echo() -> None:
            while data := await peer.reader.read(10_000):
                peer.writer.write(data)
                await peer.writer.drain()
            peer.writer.close()

        echoing = asyncio.create_task(echo())
        for size in (1, 10, 1_000, 65_536, 1_000_000, 1):
            ours.writer.write(pattern(size))
            assert await ours.reader.readexactly(size) == pattern(size)
            await ours.writer.drain()
        ours.writer.close()
        await ours.writer.wait_closed()
        await echoing


async def test_drain_returns_at_once_while_little_is_buffered(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        ours.writer.write(b"little")
        await ours.writer.drain()
        await ours.writer.drain()
        assert await peer.reader.readexactly(6) == b"little"


async def test_drain_waits_for_a_stalled_reader_and_no_longer(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        written = await fill(ours.writer, peer.writer)
        draining = asyncio.create_task(ours.writer.drain())
        await turns()
        assert not draining.done()
        assert await peer.reader.readexactly(len(written)) == written
        await draining


async def test_one_that_drains_after_each_write_buffers_little(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        make_buffers_small(ours.writer.transport)
        make_buffers_small(peer.writer.transport)
        high = ours.writer.transport.get_write_buffer_limits()[1]
        sizes: list[int] = []

        async def send() -> None:
            while sum(sizes) < 100_000_000:
                ours.writer.write(pattern(50_000))
                sizes.append(ours.writer.transport.get_write_buffer_size())
                await ours.writer.drain()

        sending = asyncio.create_task(send())
        # Until one has waited at least once: beyond the mark, nothing more is written.
        while not sizes or sizes[-1] <= high:
            await asyncio.sleep(0)
        await turns(50)
        assert not sending.done()
        assert max(sizes) <= high + 60_000
        sending.cancel()
        await asyncio.wait([sending])


async def test_all_that_drain_are_woken(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        written = await fill(ours.writer, peer.writer)
        draining = [asyncio.create_task(ours.writer.drain()) for _ in range(3)]
        await turns()
        assert not any(task.done() for task in draining)
        assert await peer.reader.readexactly(len(written)) == written
        await asyncio.gather(*draining)


async def test_a_cancelled_drain_takes_no_byte_away(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        written = await fill(ours.writer, peer.writer)

        async def send() -> None:
            ours.writer.write(b"a whole frame")
            await ours.writer.drain()

        cancelled, other = asyncio.create_task(send()), asyncio.create_task(send())
        await turns()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert cancelled.cancelled()
        assert not other.done()
        ours.writer.write(b"end")
        expected = written + b"a whole frame" * 2 + b"end"
        assert await peer.reader.readexactly(len(expected)) == expected
        await other


async def test_drain_of_a_lost_connection_is_a_connection_error(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        await fill(ours.writer, peer.writer)
        draining = asyncio.create_task(ours.writer.drain())
        await turns()
        # What it did not read makes a reset of its close.
        peer.writer.transport.abort()
        with pytest.raises(ConnectionError):
            await draining
        with pytest.raises(ConnectionError):
            await ours.writer.drain()


async def test_a_loop_of_write_and_drain_ends_when_the_peer_has_gone(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):

        async def send_for_ever() -> None:
            while True:
                ours.writer.write(b"x" * 1_000)
                await ours.writer.drain()

        sending = asyncio.create_task(send_for_ever())
        await peer.reader.readexactly(5_000)
        peer.writer.transport.abort()
        with pytest.raises(ConnectionError):
            await sending


async def test_a_reader_that_has_enough_stops_the_writer_until_it_reads(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        sending = asyncio.create_task(send_and_close(ours.writer, 60))
        received = bytearray()
        while data := await peer.reader.read(5_000):
            received += data
        assert received == pattern(50_000) * 60
        await sending


async def send_and_close(writer: asyncio.StreamWriter, count: int) -> None:
    for _ in range(count):
        writer.write(pattern(50_000))
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def test_wait_closed_returns_after_all_was_sent(channel: Channel) -> None:
    async with stream_pair(channel) as (ours, peer):
        assert not ours.writer.is_closing()
        ours.writer.write(pattern(500_000))
        ours.writer.close()
        assert ours.writer.is_closing()
        reading = asyncio.create_task(peer.reader.read())
        await ours.writer.wait_closed()
        assert await reading == pattern(500_000)


async def test_half_closed_streams(plain: Channel) -> None:
    async with stream_pair(plain) as (ours, peer):
        assert ours.writer.can_write_eof()
        ours.writer.write(b"question")
        ours.writer.write_eof()
        assert await peer.reader.read() == b"question"
        peer.writer.write(b"answer")
        peer.writer.close()
        assert await ours.reader.read() == b"answer"


@pytest.mark.parametrize("count", [200])
async def test_many_connections_at_once_do_not_mix(plain: Channel, count: int) -> None:
    served = 0

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        while line := await reader.readline():
            writer.write(line.upper())
            await writer.drain()
        writer.close()
        await writer.wait_closed()
        served += 1

    server = await serve(plain, shout, backlog=count)

    async def ask(number: int) -> None:
        end = await connect(plain, server)
        for turn in range(3):
            end.writer.write(b"client %d, turn %d\n" % (number, turn))
            assert await end.reader.readline() == b"CLIENT %d, TURN %d\n" % (number, turn)
        await close(end)

    await asyncio.gather(*(ask(number) for number in range(count)))
    while served < count:
        await asyncio.sleep(0)
    server.close()
    await server.wait_closed()
