"""Half-closed connections: one direction ends, the other goes on."""

from __future__ import annotations

import pytest
from tests.library.conformance.channels import Channel, pair, pattern, stall, turns


async def test_plain_connections_can_be_closed_by_halves(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        assert ours.transport.can_write_eof()
        assert peer.transport.can_write_eof()


async def test_tls_cannot_be_closed_by_halves(tls: Channel) -> None:
    async with pair(tls) as (ours, peer):
        assert not ours.transport.can_write_eof()
        with pytest.raises(NotImplementedError):
            ours.transport.write_eof()
        ours.transport.write(b"still here")
        await peer.has_received(len("still here"))


async def test_eof_comes_after_all_that_was_written(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        peer.answer_to_eof = True
        ours.transport.write(b"small ")
        ours.transport.write(pattern(1_000_000))
        ours.transport.write(b" small")
        ours.transport.write_eof()
        await peer.called("eof_received")
        assert peer.received == b"small " + pattern(1_000_000) + b" small"


async def test_eof_comes_after_what_a_stalled_reader_has_not_taken(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        peer.answer_to_eof = True
        sent = await stall(ours, peer)
        ours.transport.write(b"last")
        ours.transport.write_eof()
        peer.transport.resume_reading()
        await peer.called("eof_received")
        assert peer.received == sent + b"last"


async def test_one_that_wrote_eof_reads_on(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        peer.answer_to_eof = True
        ours.transport.write(b"question")
        ours.transport.write_eof()
        await peer.called("eof_received")
        assert peer.received == b"question"
        assert not peer.transport.is_closing()
        assert not ours.transport.is_closing()
        for answer in (b"first, ", b"second"):
            peer.transport.write(answer)
            await turns()
        peer.transport.close()
        await ours.called("connection_lost")
        assert ours.received == b"first, second"
        assert ours.lost_with is None
        assert peer.lost_with is None


async def test_after_eof_nothing_can_be_written(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        peer.answer_to_eof = True
        ours.transport.write(b"all")
        ours.transport.write_eof()
        with pytest.raises(RuntimeError):
            ours.transport.write(b"more")
        with pytest.raises(RuntimeError):
            ours.transport.writelines([b"more"])
        await peer.called("eof_received")
        with pytest.raises(RuntimeError):
            ours.transport.write(b"more")
        assert peer.received == b"all"


async def test_eof_without_a_byte_is_eof(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        ours.transport.write_eof()
        await peer.called("eof_received")
        assert peer.received == b""


async def test_a_second_eof_is_the_first(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        peer.answer_to_eof = True
        ours.transport.write_eof()
        ours.transport.write_eof()
        await peer.called("eof_received")
        ours.transport.write_eof()
        await turns()
        assert peer.calls.count("eof_received") == 1


async def test_close_after_eof_still_flushes(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        sent = await stall(ours, peer)
        ours.transport.write(b"last")
        ours.transport.write_eof()
        ours.transport.close()
        await turns()
        assert "connection_lost" not in ours.calls
        peer.transport.resume_reading()
        await ours.called("connection_lost")
        await peer.called("connection_lost")
        assert peer.received == sent + b"last"
        assert ours.lost_with is None


@pytest.mark.parametrize("answer", [False, None])
async def test_a_protocol_that_does_not_want_to_stay_open_is_closed_at_eof(
    channel: Channel, answer: bool | None
) -> None:
    async with pair(channel) as (ours, peer):
        ours.answer_to_eof = answer
        peer.transport.write(b"last")
        peer.transport.close()
        await ours.called("connection_lost")
        assert ours.calls == ["connection_made", "data", "eof_received", "connection_lost"]
        assert ours.received == b"last"
        assert ours.transport.is_closing()


async def test_a_protocol_that_stays_open_after_eof_writes_on_until_it_closes(
    plain: Channel,
) -> None:
    async with pair(plain) as (ours, peer):
        ours.answer_to_eof = True
        peer.transport.write_eof()
        await ours.called("eof_received")
        await turns()
        assert not ours.transport.is_closing()
        ours.transport.write(b"one, ")
        await peer.has_received(len("one, "))
        ours.transport.write(pattern(300_000))
        ours.transport.close()
        await peer.called("connection_lost")
        assert peer.received == b"one, " + pattern(300_000)
        await ours.called("connection_lost")
        assert ours.lost_with is None


async def test_tls_is_closed_at_eof_whatever_the_protocol_answers(tls: Channel) -> None:
    async with pair(tls) as (ours, peer):
        ours.answer_to_eof = True
        peer.transport.close()
        await ours.called("connection_lost")
        assert "eof_received" in ours.calls
