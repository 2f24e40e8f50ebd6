"""Writes that come from inside the protocol's own callbacks are writes like any other."""

from __future__ import annotations

from tests.library.conformance.channels import Channel, pattern, stall, turns
from tests.library.conformance.recorder import Recorder


async def test_what_connection_made_writes_is_first(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()
    ours.reactions["connection_made"] = lambda: ours.transport.write(b"hello")
    async with channel.joined(ours, peer):
        ours.transport.write(b", world")
        await peer.has_received(len("hello, world"))
        assert peer.received == b"hello, world"


async def test_what_connection_made_writes_arrives_though_it_also_closes(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()

    def greet_and_go() -> None:
        ours.transport.write(pattern(100_000))
        ours.transport.write(b"bye")
        ours.transport.close()

    ours.reactions["connection_made"] = greet_and_go
    async with channel.joined(ours, peer):
        await peer.called("connection_lost")
        assert peer.received == pattern(100_000) + b"bye"
        await ours.called("connection_lost")
        assert ours.lost_with is None


async def test_data_received_may_answer_at_once(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()
    ours.reactions["data"] = lambda: ours.transport.write(b"pong")
    async with channel.joined(ours, peer):
        for count in range(1, 6):
            peer.transport.write(b"ping")
            await peer.has_received(count * len("pong"))
        assert (ours.received, peer.received) == (b"ping" * 5, b"pong" * 5)


async def test_two_that_answer_each_other_in_data_received_do_not_deadlock(
    channel: Channel,
) -> None:
    ours, peer = Recorder(), Recorder()
    for end in (ours, peer):

        def answer(end: Recorder = end) -> None:
            end.transport.write(b"." if len(end.received) < 300 else b"")

        end.reactions["data"] = answer
    async with channel.joined(ours, peer):
        ours.transport.write(b".")
        await peer.has_received(300)


async def test_an_answer_before_closing_in_data_received_arrives(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()

    def answer_and_go() -> None:
        ours.transport.write(b"the last ")
        ours.transport.writelines([b"wo", b"rd"])
        ours.transport.close()

    ours.reactions["data"] = answer_and_go
    async with channel.joined(ours, peer):
        peer.transport.write(b"?")
        await peer.called("connection_lost")
        assert peer.received == b"the last word"


async def test_what_pause_writing_writes_is_taken_and_comes_next(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()
    ours.reactions["pause_writing"] = lambda: ours.transport.write(b"paused")
    async with channel.joined(ours, peer):
        ours.transport.set_write_buffer_limits(high=10_000_000)
        sent = await stall(ours, peer)
        ours.transport.set_write_buffer_limits(
            high=ours.transport.get_write_buffer_size() + 100, low=0
        )
        assert not ours.is_paused
        ours.transport.write(pattern(100_000))
        assert ours.is_paused
        ours.transport.write(b"after")
        expected = sent + pattern(100_000) + b"pausedafter"
        peer.transport.resume_reading()
        await peer.has_received(len(expected))
        assert peer.received == expected


async def test_what_resume_writing_writes_is_taken_and_comes_next(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()
    ours.reactions["resume_writing"] = lambda: ours.transport.write(b"resumed")
    async with channel.joined(ours, peer):
        ours.transport.set_write_buffer_limits(high=10_000_000)
        sent = await stall(ours, peer)
        ours.transport.set_write_buffer_limits(high=1, low=0)
        assert ours.is_paused
        peer.transport.resume_reading()
        await peer.has_received(len(sent + b"resumed"))
        assert peer.received.startswith(sent + b"resumed")


async def test_resume_writing_may_write_until_it_is_paused_again(channel: Channel) -> None:
    """A producer that writes while it may, and stops when it may not: all arrives in order."""
    ours, peer = Recorder(), Recorder()
    chunks = [pattern(10_000 + number) for number in range(60)]
    left = list(chunks)

    def produce() -> None:
        while left and not ours.is_paused:
            ours.transport.write(left.pop(0))

    async with channel.joined(ours, peer):
        ours.transport.set_write_buffer_limits(high=10_000_000)
        sent = await stall(ours, peer)
        ours.reactions["resume_writing"] = produce
        ours.transport.set_write_buffer_limits(high=20_000, low=5_000)
        ours.transport.write(pattern(20_001))
        sent += pattern(20_001)
        assert ours.is_paused
        peer.transport.resume_reading()
        expected = sent + b"".join(chunks)
        await ours.until(lambda: not left or ours.is_paused)
        while left:
            await ours.until(lambda: not ours.is_paused)
            # A pause that ended within the write that brought it calls nobody back.
            produce()
        await peer.has_received(len(expected))
        assert peer.received == expected


async def test_what_eof_received_writes_arrives_before_the_close(channel: Channel) -> None:
    ours, peer = Recorder(), Recorder()
    ours.answer_to_eof = False
    ours.reactions["eof_received"] = lambda: ours.transport.write(b"goodbye")
    async with channel.joined(ours, peer):
        if channel.is_tls:
            peer.transport.close()
        else:
            peer.transport.write_eof()
        await ours.called("connection_lost")
        assert ours.calls[-2:] == ["eof_received", "connection_lost"]
        if not channel.is_tls:
            # One that has closed TLS reads no more.
            await peer.called("connection_lost")
            assert peer.received == b"goodbye"


async def test_a_write_in_connection_lost_reaches_nobody(plain: Channel) -> None:
    ours, peer = Recorder(), Recorder()
    ours.reactions["connection_lost"] = lambda: ours.transport.write(b"too late")
    async with plain.joined(ours, peer):
        ours.transport.write(b"in time")
        ours.transport.close()
        await peer.called("connection_lost")
        await ours.called("connection_lost")
        await turns()
        assert peer.received == b"in time"
