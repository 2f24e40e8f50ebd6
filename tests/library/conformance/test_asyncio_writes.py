"""What is written arrives: once, whole, in order, as it was when it was written."""

from __future__ import annotations

import random
from array import array
from typing import Any

import pytest
from tests.library.conformance.channels import Channel, make_buffers_small, pair, pattern, stall
from tests.library.conformance.loops import Loop, Trouble

SIZES = [1, 2, 100, 1_400, 4_096, 65_535, 65_536, 65_537, 200_000, 5_000_000]

Writable = bytes | bytearray | memoryview


class Named(bytes):
    """Bytes are bytes under another name too."""


async def test_every_bytes_like_object_is_sent(channel: Channel) -> None:
    messages: list[Writable] = [
        b"exact bytes",
        Named(b"a subclass of bytes"),
        bytearray(b"a bytearray"),
        memoryview(b"a view of bytes"),
        memoryview(bytearray(b"a view of a bytearray"))[2:6],
        memoryview(array("I", [1, 2**31, 3])),
        memoryview(b"a view of two dimensions").cast("B", (6, 4)),
    ]
    async with pair(channel) as (ours, peer):
        expected = b""
        for message in messages:
            # Once when the connection is idle, once right after another.
            ours.transport.write(message)
            ours.transport.write(message)
            expected += bytes(message) * 2
            await peer.has_received(len(expected))
            assert peer.received == expected


async def test_nothing_is_sent_for_an_empty_write(channel: Channel) -> None:
    empties: list[Writable] = [b"", bytearray(), memoryview(b"")]
    async with pair(channel) as (ours, peer):
        # Not zero: a TLS server may still have its session tickets to send.
        before = ours.transport.get_write_buffer_size()
        for empty in empties:
            ours.transport.write(empty)
            assert ours.transport.get_write_buffer_size() == before
        for word in (b"first", b", second"):
            ours.transport.write(word)
            ours.transport.writelines(empties)
            for empty in empties:
                ours.transport.write(empty)
        await peer.has_received(len("first, second"))
        assert peer.received == b"first, second"


async def test_what_is_not_bytes_is_a_type_error_and_harms_nothing(channel: Channel) -> None:
    wrong: list[Any] = ["text", 7, [b"list"], 1.5]
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"before")
        for message in wrong:
            with pytest.raises(TypeError):
                ours.transport.write(message)
        ours.transport.write(b", after")
        await peer.has_received(len("before, after"))
        assert peer.received == b"before, after"


async def test_lines_that_are_not_bytes_are_a_type_error(plain: Channel) -> None:
    wrong: list[Any] = ["text", 7, None]
    async with pair(plain) as (ours, peer):
        for message in wrong:
            with pytest.raises(TypeError):
                ours.transport.writelines([message])
        ours.transport.write(b"after")
        await peer.has_received(len("after"))
        assert peer.received == b"after"


async def test_a_view_with_gaps_never_becomes_other_bytes(plain: Channel, trouble: Trouble) -> None:
    """Both loops refuse it, uvloop by TypeError, asyncio by ending the connection; that is
    documented nowhere, and to send it is no less correct."""
    view = memoryview(b"a-b-c-")[::2]
    async with pair(plain) as (ours, peer):
        try:
            ours.transport.write(view)
        except (BufferError, TypeError):
            ours.transport.close()
        else:
            if not ours.transport.is_closing():
                ours.transport.close()
        await peer.called("connection_lost")
        assert peer.received in (b"", b"abc")
    trouble.seen.clear()


async def test_a_buffer_may_be_changed_after_its_write(channel: Channel, loop: Loop) -> None:
    buffer = bytearray(b"as it was")
    async with pair(channel) as (ours, peer):
        ours.transport.write(buffer)
        buffer[:] = b"CHANGED.."
        if loop.copies_what_may_change:
            buffer.clear()
        await peer.has_received(len("as it was"))
        if loop.copies_what_may_change:
            assert peer.received == b"as it was"


async def test_a_buffer_may_be_changed_after_its_write_to_a_stalled_reader(
    plain: Channel, loop: Loop
) -> None:
    buffer = bytearray(b"as it was")
    async with pair(plain) as (ours, peer):
        sent = await stall(ours, peer)
        ours.transport.write(buffer)
        ours.transport.write(memoryview(buffer))
        buffer[:] = b"CHANGED.."
        peer.transport.resume_reading()
        await peer.has_received(len(sent) + 2 * len(buffer))
        if loop.copies_what_waits:
            assert peer.received == sent + b"as it was" * 2


async def test_lines_are_sent_like_writes_one_after_the_other(channel: Channel) -> None:
    several: list[list[Writable]] = [
        [],
        [b""],
        [b"one"],
        [b"one, ", bytearray(b"two, "), memoryview(b"three")],
        [b"", b"between", b"", b" empty ones", b""],
        [pattern(100_000), b"-", pattern(300_000)],
    ]
    async with pair(channel) as (ours, peer):
        expected = b""
        for lines in several:
            ours.transport.write(b"<")
            ours.transport.writelines(lines)
            ours.transport.write(b">")
            expected += b"<" + b"".join(lines) + b">"
            await peer.has_received(len(expected))
            assert peer.received == expected


async def test_lines_may_come_from_any_iterable(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        ours.transport.writelines(b"%d," % number for number in range(5))
        ours.transport.writelines((b"a", b"tuple"))
        await peer.has_received(len("0,1,2,3,4,atuple"))
        assert peer.received == b"0,1,2,3,4,atuple"


async def test_writes_of_all_sizes_keep_their_order(channel: Channel) -> None:
    chance = random.Random(3)
    sizes = [*SIZES, *chance.choices(SIZES[:-1], k=30)]
    chance.shuffle(sizes)
    source = pattern(sum(sizes))
    async with pair(channel) as (ours, peer):
        begin = 0
        for size in sizes:
            ours.transport.write(source[begin : begin + size])
            begin += size
        await peer.has_received(len(source))
        assert peer.received == source


async def test_small_writes_after_a_big_one_wait_for_their_turn(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        make_buffers_small(ours.transport)
        make_buffers_small(peer.transport)
        big = pattern(500_000)
        ours.transport.write(big)
        for number in range(1_000):
            ours.transport.write(b"%03d" % number)
        expected = big + b"".join(b"%03d" % number for number in range(1_000))
        await peer.has_received(len(expected))
        assert peer.received == expected


async def test_both_ends_write_at_once_without_waiting_for_each_other(channel: Channel) -> None:
    """Two that only wrote before they read would wait for ever."""
    there, back = pattern(1_000_000), pattern(1_000_003)
    async with pair(channel) as (ours, peer):
        make_buffers_small(ours.transport)
        make_buffers_small(peer.transport)
        ours.transport.write(there)
        peer.transport.write(back)
        await peer.has_received(len(there))
        await ours.has_received(len(back))
        assert (peer.received, ours.received) == (there, back)
