"""Flow control: what may be written before the protocol is paused, and when it goes on."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest
from tests.library.conformance.channels import Channel, pair, pattern, stall
from tests.library.conformance.loops import Loop
from tests.library.conformance.recorder import Recorder

NEVER = 100_000_000


async def stalled_below(ours: Recorder, peer: Recorder) -> bytes:
    """Stall it without reaching its high-water mark."""
    ours.transport.set_write_buffer_limits(high=NEVER)
    sent = await stall(ours, peer)
    assert "pause_writing" not in ours.calls
    return sent


def fill_the_kernel(ours: Recorder) -> int:
    """Write until the kernel takes nothing more, and return what is in the buffer then.

    A loop that waits for room is told of it late: the kernel takes some even before. From Python
    3.12 on `writelines` asks it again, without waiting.
    """
    while True:
        before = ours.transport.get_write_buffer_size()
        ours.transport.writelines([b"x"])
        if ours.transport.get_write_buffer_size() == before + 1:
            return before + 1


async def test_the_default_marks_are_numbers_of_bytes_low_first(channel: Channel) -> None:
    async with pair(channel) as (ours, _):
        low, high = ours.transport.get_write_buffer_limits()
        assert 0 < low <= high


async def test_the_marks_are_those_that_were_set(channel: Channel) -> None:
    async with pair(channel) as (ours, _):
        for low, high in [(10, 1_000), (1_000, 1_000), (0, 1_000), (0, 0)]:
            ours.transport.set_write_buffer_limits(high=high, low=low)
            assert ours.transport.get_write_buffer_limits() == (low, high)
        ours.transport.set_write_buffer_limits(high=10, low=1)
        ours.transport.set_write_buffer_limits(high=0)
        assert ours.transport.get_write_buffer_limits() == (0, 0)


async def test_one_mark_brings_a_sensible_other(channel: Channel) -> None:
    async with pair(channel) as (ours, _):
        ours.transport.set_write_buffer_limits(high=1_000)
        low, high = ours.transport.get_write_buffer_limits()
        assert high == 1_000
        assert 0 <= low <= high
        ours.transport.set_write_buffer_limits(low=2_000)
        low, high = ours.transport.get_write_buffer_limits()
        assert low == 2_000
        assert low <= high


async def test_no_mark_brings_the_defaults_back(channel: Channel) -> None:
    async with pair(channel) as (ours, _):
        defaults = ours.transport.get_write_buffer_limits()
        ours.transport.set_write_buffer_limits(high=10, low=1)
        ours.transport.set_write_buffer_limits()
        low, high = ours.transport.get_write_buffer_limits()
        # The low one is another in uvloop.
        assert high == defaults[1]
        assert 0 < low <= high


async def test_impossible_marks_are_a_value_error_and_change_nothing(channel: Channel) -> None:
    async with pair(channel) as (ours, _):
        ours.transport.set_write_buffer_limits(high=1_000, low=10)
        impossible = [{"high": 10, "low": 11}, {"high": -1}, {"low": -1}, {"high": 0, "low": 1}]
        for marks in impossible:
            with pytest.raises(ValueError, match="must be >= low"):
                ours.transport.set_write_buffer_limits(**marks)
            assert ours.transport.get_write_buffer_limits() == (10, 1_000)


async def test_the_buffer_is_as_big_as_what_was_not_sent(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        await stalled_below(ours, peer)
        before = fill_the_kernel(ours)
        ours.transport.write(b"x" * 1_000)
        ours.transport.write(b"y")
        ours.transport.writelines([b"z" * 10, b"z"])
        assert ours.transport.get_write_buffer_size() == before + 1_012


async def test_the_buffer_of_an_idle_connection_becomes_empty(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"all")
        await peer.has_received(len("all"))
        assert ours.transport.get_write_buffer_size() == 0


async def test_writing_pauses_strictly_above_the_high_mark(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        await stalled_below(ours, peer)
        size = ours.transport.get_write_buffer_size()
        ours.transport.set_write_buffer_limits(high=size + 100, low=10)
        ours.transport.write(b"x" * 100)
        assert ours.transport.get_write_buffer_size() == size + 100
        assert not ours.is_paused
        ours.transport.write(b"x")
        assert ours.is_paused
        ours.transport.write(b"x" * 100_000)
        assert ours.calls.count("pause_writing") == 1


async def test_writing_pauses_above_the_high_mark_however_it_is_counted(channel: Channel) -> None:
    """TLS may count what encryption adds, so here it is asked what it counts."""
    async with pair(channel) as (ours, peer):
        await stalled_below(ours, peer)
        high = ours.transport.get_write_buffer_size() + 5_000
        ours.transport.set_write_buffer_limits(high=high, low=10)
        while not ours.is_paused:
            assert ours.transport.get_write_buffer_size() <= high
            ours.transport.write(b"x" * 97)
        assert ours.transport.get_write_buffer_size() > high


async def test_a_lower_mark_pauses_at_once(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        await stalled_below(ours, peer)
        ours.transport.set_write_buffer_limits(high=ours.transport.get_write_buffer_size() + 1)
        assert not ours.is_paused
        ours.transport.set_write_buffer_limits(high=ours.transport.get_write_buffer_size() - 1)
        assert ours.is_paused


@pytest.mark.parametrize(("high", "low"), [(1, 0), (20_000, None), (20_000, 20_000)])
async def test_writing_resumes_at_the_low_mark(
    channel: Channel, high: int, low: int | None
) -> None:
    ours, peer = Recorder(), Recorder()
    sizes: list[int] = []
    ours.reactions["resume_writing"] = lambda: sizes.append(ours.transport.get_write_buffer_size())
    async with channel.joined(ours, peer):
        sent = await stalled_below(ours, peer)
        ours.transport.set_write_buffer_limits(high=high, low=low)
        ours.transport.write(pattern(200_000))
        assert ours.is_paused
        low_mark = ours.transport.get_write_buffer_limits()[0]
        peer.transport.resume_reading()
        await peer.has_received(len(sent) + 200_000)
        await ours.called("resume_writing")
        assert peer.received == sent + pattern(200_000)
        assert ours.calls.count("pause_writing") == ours.calls.count("resume_writing") == 1
        assert sizes[0] <= low_mark


whose: ContextVar[str] = ContextVar("whose")


@pytest.mark.parametrize("is_stalled_before", [False, True])
async def test_a_protocol_is_paused_in_the_context_of_its_loop(
    channel: Channel, loop: Loop, is_stalled_before: bool
) -> None:
    whose.set("the connection's")
    async with pair(channel) as (ours, peer):
        seen: list[str] = []
        ours.reactions["pause_writing"] = lambda: seen.append(whose.get())
        if is_stalled_before:
            await stalled_below(ours, peer)

        async def write() -> None:
            whose.set("the writer's")
            peer.transport.pause_reading()
            ours.transport.set_write_buffer_limits(
                high=ours.transport.get_write_buffer_size() + 300
            )
            while not ours.is_paused:
                ours.transport.write(b"x" * 16_384)

        await asyncio.create_task(write())
        assert seen == [
            "the writer's" if loop.pauses_in_the_writers_context else "the connection's"
        ]


async def test_writing_does_not_resume_while_the_reader_stalls(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        await stalled_below(ours, peer)
        ours.transport.set_write_buffer_limits(high=1, low=0)
        more = await stall(ours, peer)
        assert more
        assert ours.is_paused
        assert "resume_writing" not in ours.calls


async def test_each_pause_has_its_resume(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        expected = bytearray()
        for times in (1, 2):
            expected += await stalled_below_again(ours, peer)
            assert ours.calls.count("pause_writing") == times
            peer.transport.resume_reading()
            await ours.called("resume_writing", times)
            await peer.has_received(len(expected))
        assert peer.received == expected


async def stalled_below_again(ours: Recorder, peer: Recorder) -> bytes:
    """Stall it, however often it was paused before, and pause it."""
    ours.transport.set_write_buffer_limits(high=NEVER)
    sent = await stall(ours, peer)
    ours.transport.set_write_buffer_limits(high=1_000, low=100)
    ours.transport.write(b"x" * 1_001)
    assert ours.is_paused
    return sent + b"x" * 1_001


async def test_with_a_mark_of_zero_writing_is_paused_while_anything_is_buffered(
    plain: Channel,
) -> None:
    async with pair(plain) as (ours, peer):
        ours.transport.set_write_buffer_limits(high=0)
        for count in range(1, 20):
            ours.transport.write(b"x")
            assert ours.is_paused == (ours.transport.get_write_buffer_size() > 0)
            await peer.has_received(count)
        await ours.until(lambda: not ours.is_paused)
        assert peer.received == b"x" * 19


async def test_a_mark_below_what_was_just_written_pauses_for_no_longer_than_that(
    channel: Channel,
) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"x")
        ours.transport.write(b"y" * 1_000)
        ours.transport.write(b"z")
        ours.transport.set_write_buffer_limits(high=10, low=1)
        await peer.has_received(1_002)
        await ours.until(lambda: not ours.is_paused)


async def test_a_paused_protocol_may_still_write(channel: Channel) -> None:
    """Being paused is a request: nothing that is written in spite of it is lost."""
    async with pair(channel) as (ours, peer):
        sent = await stall(ours, peer)
        ours.transport.set_write_buffer_limits(high=0)
        for _ in range(100):
            ours.transport.write(pattern(1_000))
        peer.transport.resume_reading()
        await peer.has_received(len(sent) + 100_000)
        assert peer.received == sent + pattern(1_000) * 100


async def test_raised_marks_resume_a_paused_protocol_at_once_only_under_tls(
    channel: Channel,
) -> None:
    """The transports of TLS look at both marks when they are set, others only at the high one."""
    async with pair(channel) as (ours, peer):
        ours.transport.set_write_buffer_limits(high=1_000, low=10)
        sent = await stall(ours, peer)
        assert ours.is_paused
        ours.transport.set_write_buffer_limits(high=NEVER, low=NEVER - 1)
        assert ours.is_paused == (not channel.is_tls)
        peer.transport.resume_reading()
        await peer.has_received(len(sent))
        assert peer.received == sent
