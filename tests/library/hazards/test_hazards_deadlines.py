"""Hazards of a deadline that moves: a message that comes lets what is held leave sooner.

`competitive` with a price of a minute, and so many messages that they share it: each would wait for
a minute alone, and 10 ms together.
"""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.library.setups import Connector, Recorder, Setup, receive
from tests.library.wires import Pair, receive_exactly, wait_until, waiting_bytes

import tinygram

PRICE_NS = 60_000_000_000
MINUTE = tinygram.competitive(60e6)
MANY = 6_000
SOON_S = 20.0
"""When 10 ms have passed, on however busy a machine; a third of what one message would wait."""


@pytest.mark.parametrize("waits_s", [0, 0.05], ids=["at once", "while it waits"])
def test_what_follows_lets_the_held_leave_sooner(
    setup: Setup, unix_pair: Pair, waits_s: float
) -> None:
    """The timer was set for the first message; what came while the loop waited did not move it."""
    ours, peer = unix_pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(b"m")
        await asyncio.sleep(waits_s)
        assert waiting_bytes(peer) == 0
        for _ in range(1, MANY):
            transport.write(b"m")
        async with asyncio.timeout(SOON_S):
            assert await receive(peer, MANY) == b"m" * MANY
        assert transport.stats().flushes["deadline"] >= 1
        transport.abort()

    setup.run(program, strategy=MINUTE)


def test_it_leaves_sooner_with_each_message_that_comes_in_an_iteration_of_its_own(
    setup: Setup, unix_pair: Pair
) -> None:
    """The loop waits between any two of them, each time with an earlier deadline."""
    ours, peer = unix_pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        sent_s: list[float] = []
        while not waiting_bytes(peer) and len(sent_s) < 700:
            sent_s.append(time.monotonic())
            transport.write(b"m")
            await asyncio.sleep(0.005)
        # Messages 5 ms apart have waited 12 s together after 0.35 s, when 70 have come, and fewer
        # where the host stops us; the first one alone would have when 2,400 had.
        assert waiting_bytes(peer)
        now_s = time.monotonic()
        assert sum(now_s - at_s for at_s in sent_s) >= 11.9
        transport.abort()

    setup.run(program, strategy=tinygram.competitive(12e6))


def test_others_that_wait_for_the_same_timer_are_not_disturbed(
    setup: Setup, unix_pair: Pair, tcp: Pair
) -> None:
    """One connection's deadline moves; another's, which is a minute away, stays where it was."""
    ours, peer = unix_pair
    others, others_peer = tcp

    async def program(connect: Connector) -> None:
        busy = await connect.protocol(Recorder(), ours)
        calm = await connect.protocol(Recorder(), others)
        calm.write(b"calm")
        busy.write(b"m")
        await asyncio.sleep(0.02)
        for _ in range(1, MANY):
            busy.write(b"m")
        async with asyncio.timeout(SOON_S):
            await receive(peer, MANY)
        assert waiting_bytes(others_peer) == 0
        for _ in range(1, MANY):
            calm.write(b"m")
        async with asyncio.timeout(SOON_S):
            assert await receive(others_peer, MANY + 3) == b"calm" + b"m" * (MANY - 1)
        busy.abort()
        calm.abort()

    setup.run(program, strategy=MINUTE)


def test_a_batch_tells_the_deadline_that_its_messages_share(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=MINUTE) as out:
        times_ns = [time.monotonic_ns()]
        for count in range(1, 5):
            out.send(b"m")
            times_ns.append(time.monotonic_ns())
            # Each message came between two readings of the clock.
            earliest_ns, latest_ns = sum(times_ns[:-1]), sum(times_ns[1:])
            assert out.deadline_ns is not None
            assert (PRICE_NS + earliest_ns) // count <= out.deadline_ns
            assert out.deadline_ns <= (PRICE_NS + latest_ns) // count + 1
        assert waiting_bytes(peer) == 0


def test_a_batch_that_is_due_leaves_with_the_message_that_finds_it_so(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=tinygram.competitive(1)) as out:
        out.send(b"held ")
        time.sleep(0.001)
        out.send(b"back")
        assert receive_exactly(peer, 9) == b"held back"
        stats = out.stats()
        assert (stats.flushes["deadline"], stats.overruns) == (1, 1)


def test_a_max_hold_and_max_bytes_bound_it(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.batch(ours, strategy=MINUTE, max_hold_us=1, max_bytes=100) as out:
        out.send(b"held ")
        time.sleep(0.001)
        out.send(b"back")
        assert receive_exactly(peer, 9) == b"held back"
    with tinygram.batch(ours, strategy=MINUTE, max_bytes=100) as out:
        for _ in range(10):
            out.send(b"0123456789")
        assert receive_exactly(peer, 100) == b"0123456789" * 10


def test_the_writing_thread_hears_of_a_deadline_that_moved(pair: Pair) -> None:
    ours, peer = pair
    with tinygram.CoalescingSocket(ours, strategy=MINUTE) as sock:
        sock.send(b"m")
        time.sleep(0.02)  # The thread has come, and would come again in a minute.
        assert waiting_bytes(peer) == 0
        for _ in range(1, MANY):
            sock.send(b"m")
        peer.settimeout(SOON_S)
        assert receive_exactly(peer, MANY) == b"m" * MANY
        wait_until(lambda: sock.stats().flushes["deadline"] >= 1, "no deadline was kept")
