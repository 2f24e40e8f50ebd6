"""Reading: pauses, protocols that are exchanged, protocols with buffers of their own."""

from __future__ import annotations

import asyncio

import pytest
from tests.library.conformance.channels import Channel, pair, pattern, stall, turns
from tests.library.conformance.recorder import BufferedRecorder, Calls, Recorder


async def test_nothing_is_received_while_reading_is_paused(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.pause_reading()
        peer.transport.write(b"later")
        await turns(20)
        assert ours.received == b""
        ours.transport.resume_reading()
        await ours.has_received(len("later"))
        assert ours.received == b"later"


async def test_a_pause_within_data_received_holds_back_the_rest(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.reactions["data"] = ours.transport.pause_reading
        peer.transport.write(pattern(1_000_000))
        await ours.called("data")
        before = len(ours.received)
        await turns(20)
        assert len(ours.received) == before
        assert before < 1_000_000
        del ours.reactions["data"]
        ours.transport.resume_reading()
        await ours.has_received(1_000_000)
        assert ours.received == pattern(1_000_000)


async def test_pausing_and_resuming_twice_is_once(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        assert ours.transport.is_reading()
        ours.transport.resume_reading()
        ours.transport.pause_reading()
        ours.transport.pause_reading()
        assert not ours.transport.is_reading()
        ours.transport.resume_reading()
        assert ours.transport.is_reading()
        ours.transport.resume_reading()
        peer.transport.write(b"heard")
        await ours.has_received(len("heard"))


async def test_a_closed_transport_is_not_reading(plain: Channel) -> None:
    async with pair(plain) as (ours, _):
        ours.transport.close()
        assert not ours.transport.is_reading()
        await ours.called("connection_lost")
        assert not ours.transport.is_reading()


async def test_eof_is_not_told_while_reading_is_paused(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        ours.transport.pause_reading()
        peer.transport.write(b"last")
        peer.transport.write_eof()
        await turns(20)
        assert ours.calls == ["connection_made"]
        ours.transport.resume_reading()
        await ours.called("connection_lost")
        assert ours.received == b"last"


async def test_writing_goes_on_while_reading_is_paused(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.pause_reading()
        ours.transport.write(pattern(300_000))
        await peer.has_received(300_000)
        assert peer.received == pattern(300_000)


@pytest.mark.parametrize("buffer_bytes", [1, 7, 4_096, 1_000_000])
async def test_a_buffered_protocol_is_given_every_byte(channel: Channel, buffer_bytes: int) -> None:
    ours, peer = BufferedRecorder(buffer_bytes), Recorder()
    count = min(300_000, 500 * buffer_bytes)
    async with channel.joined(ours, peer):
        peer.transport.write(pattern(count))
        await ours.has_received(count)
        ours.transport.write(b"thanks")
        await peer.has_received(len("thanks"))
        assert ours.received == pattern(count)
        peer.transport.close()
        await ours.called("connection_lost")
        assert "eof_received" in ours.calls


async def test_the_protocol_is_the_one_that_was_given(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        assert ours.transport.get_protocol() is ours
        successor = Recorder()
        ours.transport.set_protocol(successor)
        assert ours.transport.get_protocol() is successor
        peer.transport.write(b"to whom?")
        await successor.has_received(len("to whom?"))
        assert ours.received == b""
        assert successor.calls == ["data"], "it is made no connection: it takes one over"
        ours.transport.set_protocol(ours)


@pytest.mark.parametrize(
    ("first", "second"),
    [(Recorder, BufferedRecorder), (BufferedRecorder, Recorder), (Recorder, Recorder)],
    ids=["to a buffered one", "from a buffered one", "to its like"],
)
async def test_a_protocol_hands_over_mid_stream(
    channel: Channel, first: type[Calls], second: type[Calls]
) -> None:
    """Switch as an HTTP upgrade does, from inside data_received; the end goes to the new one."""
    ours, peer, successor = first(), Recorder(), second()
    ours.reactions["data"] = lambda: ours.transport.set_protocol(successor)
    async with channel.joined(ours, peer):
        peer.transport.write(b"upgrade")
        await ours.called("data")
        peer.transport.write(pattern(100_000))
        await successor.has_received(100_000)
        ours.transport.write(b"welcome")
        await peer.has_received(len("welcome"))
        assert (ours.received, successor.received) == (b"upgrade", pattern(100_000))
        peer.transport.close()
        await successor.called("connection_lost")
        assert successor.calls[-2:] == ["eof_received", "connection_lost"]
        assert ours.calls == ["connection_made", "data"]
        # It, too, must have had the end that every protocol must have.
        ours.connection_lost(None)


async def test_water_marks_call_the_protocol_of_now(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.set_write_buffer_limits(high=100_000_000)
        sent = await stall(ours, peer)
        successor = Recorder()
        ours.transport.set_protocol(successor)
        ours.transport.set_write_buffer_limits(high=1, low=0)
        assert successor.is_paused
        peer.transport.resume_reading()
        await successor.called("resume_writing")
        await peer.has_received(len(sent))
        assert ours.calls == ["connection_made"]
        ours.transport.set_protocol(ours)


async def test_a_protocol_that_defines_nothing_closes_at_eof(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.set_protocol(asyncio.Protocol())
        ours.transport.write(b"last")
        await peer.has_received(len("last"))
        peer.transport.write(b"ignored")
        peer.transport.close()
        await peer.called("connection_lost")
        assert peer.lost_with is None
        ours.connection_lost(None)
