"""How a connection ends: with all that was written, at once, or by the peer's doing."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.library.conformance.channels import Channel, pair, pattern, reset, stall, turns
from tests.library.conformance.recorder import Recorder


async def test_close_sends_all_that_was_written_and_says_so_once(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"small ")
        ours.transport.write(pattern(2_000_000))
        ours.transport.write(b" small")
        ours.transport.close()
        assert ours.transport.is_closing()
        assert "connection_lost" not in ours.calls, "it is never called from inside close"
        await ours.called("connection_lost")
        await peer.called("connection_lost")
        assert peer.received == b"small " + pattern(2_000_000) + b" small"
        assert ours.lost_with is None
        assert peer.lost_with is None
        await turns()
        assert ours.calls.count("connection_lost") == 1


async def test_close_without_a_write_is_a_close(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.close()
        assert "connection_lost" not in ours.calls
        await ours.called("connection_lost")
        await peer.called("connection_lost")
        assert (ours.lost_with, peer.lost_with) == (None, None)


async def test_the_last_of_many_messages_arrives_though_close_follows_at_once(
    channel: Channel,
) -> None:
    async with pair(channel) as (ours, peer):
        for number in range(1_000):
            ours.transport.write(b"%03d," % number)
        ours.transport.close()
        await peer.called("connection_lost")
        assert peer.received == b"".join(b"%03d," % number for number in range(1_000))


async def test_close_waits_for_a_stalled_reader(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        sent = await stall(ours, peer)
        ours.transport.write(b"last")
        ours.transport.close()
        await turns()
        assert "connection_lost" not in ours.calls
        peer.transport.resume_reading()
        await ours.called("connection_lost")
        await peer.called("connection_lost")
        assert peer.received == sent + b"last"
        assert ours.lost_with is None


async def test_a_second_close_is_the_first(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"all")
        ours.transport.close()
        ours.transport.close()
        await ours.called("connection_lost")
        ours.transport.close()
        await peer.called("connection_lost")
        await turns()
        assert ours.calls.count("connection_lost") == 1
        assert peer.received == b"all"


async def test_nothing_is_read_after_close(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        sent = await stall(ours, peer)
        ours.transport.close()
        peer.transport.write(b"too late")
        await turns()
        peer.transport.resume_reading()
        await ours.called("connection_lost")
        assert ours.received == b""
        assert len(peer.received) <= len(sent)


async def test_abort_drops_what_is_not_sent(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        sent = await stall(ours, peer)
        ours.transport.write(b"last")
        ours.transport.abort()
        assert ours.transport.is_closing()
        assert "connection_lost" not in ours.calls, "it is never called from inside abort"
        # It waits for nobody: the peer does not read yet.
        await ours.called("connection_lost")
        assert ours.lost_with is None
        peer.transport.resume_reading()
        await peer.called("connection_lost")
        assert len(peer.received) < len(sent)
        assert sent.startswith(peer.received)


async def test_abort_after_close_does_not_wait_for_the_reader(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        sent = await stall(ours, peer)
        ours.transport.close()
        await turns()
        ours.transport.abort()
        await ours.called("connection_lost")
        peer.transport.resume_reading()
        await peer.called("connection_lost")
        assert len(peer.received) < len(sent)


async def test_abort_of_an_idle_connection_is_a_close(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.abort()
        await ours.called("connection_lost")
        await peer.called("connection_lost")
        assert ours.lost_with is None


async def test_abort_right_after_writes_sends_no_other_bytes(channel: Channel) -> None:
    """How many leave is the transport's to say; that it ends cleanly is not."""
    async with pair(channel) as (ours, peer):
        for word in (b"one, ", b"two, ", b"three"):
            ours.transport.write(word)
        ours.transport.abort()
        await ours.called("connection_lost")
        await peer.called("connection_lost")
        assert ours.lost_with is None
        assert b"one, two, three".startswith(peer.received)


async def test_an_open_connection_is_not_closing(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        assert not ours.transport.is_closing()
        assert not peer.transport.is_closing()
        ours.transport.close()
        assert ours.transport.is_closing()
        await ours.called("connection_lost")
        assert ours.transport.is_closing()


@pytest.mark.parametrize("writes", [False, True], ids=["idle", "writing"])
async def test_a_reset_is_a_connection_error(channel: Channel, writes: bool) -> None:
    if channel.kind == "unix":
        # A Unix socket is reset when it is closed with bytes that nobody read.
        async with pair(channel) as (ours, peer):
            peer.transport.pause_reading()
            ours.transport.write(b"unread" * (10_000 if writes else 1))
            await turns(20)
            peer.transport.abort()
            await ours.called("connection_lost")
            assert isinstance(ours.lost_with, ConnectionError)
        return
    async with pair(channel) as (ours, peer):
        if writes:
            await stall(ours, peer)
        reset(peer)
        await ours.called("connection_lost")
        assert isinstance(ours.lost_with, ConnectionError)
        assert ours.transport.is_closing()


async def test_writing_to_a_peer_that_is_gone_ends_in_one_connection_lost(
    channel: Channel,
) -> None:
    """Whoever writes on, not knowing yet, is told by connection_lost and not by write."""
    async with pair(channel) as (ours, peer):
        reset(peer)
        for _ in range(100):
            ours.transport.write(b"is anybody there?")
        await ours.called("connection_lost")
        await turns()
        assert ours.calls.count("connection_lost") == 1


async def test_a_paused_writer_learns_of_the_reset(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        await stall(ours, peer)
        ours.transport.set_write_buffer_limits(high=0)
        assert ours.is_paused
        reset(peer)
        await ours.called("connection_lost")


async def test_a_closed_connection_keeps_nothing_alive(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()
    async with channel.joined(ours, peer):
        ours.transport.write(b"all")
        ours.transport.close()
        await peer.called("connection_lost")
    reference = weakref.ref(ours)
    del ours
    await turns()
    gc.collect()
    assert reference() is None
