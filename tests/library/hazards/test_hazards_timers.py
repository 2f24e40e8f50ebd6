"""Hazards of time: what waits for a timer leaves, whoever else waits for it and whoever writes."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time

import pytest
from tests.library.setups import Connector, Recorder, Setup, receive
from tests.library.wires import Pair, wait_until_asleep, waiting_bytes

import tinygram

HOLD_S = 0.02
SOON_S = 20.0
"""When a hold of `HOLD_S` has ended, on however busy a machine."""


async def receive_soon(peer: socket.socket, count: int) -> bytes:
    """Like `receive`; TimeoutError when it does not come, though nothing else happens."""
    async with asyncio.timeout(SOON_S):
        return await receive(peer, count)


def test_a_timer_that_fires_for_one_connection_while_another_gathers(setup: Setup) -> None:
    """The timer that all share was not set again for a batch that was still gathering."""
    pairs = [socket.socketpair() for _ in range(2)]

    async def program(connect: Connector) -> None:
        one, other = [await connect.protocol(Recorder(), ours) for ours, _ in pairs]
        one.write(b"alone")
        await asyncio.sleep(HOLD_S / 2)
        other.write(b"first ")
        await asyncio.sleep(HOLD_S / 4)
        other.write(b"second")
        assert await receive_soon(pairs[0][1], 5) == b"alone"
        assert await receive_soon(pairs[1][1], 12) == b"first second"
        one.abort()
        other.abort()

    setup.run(program, strategy=tinygram.coalesce(HOLD_S * 1e6))
    for _, peer in pairs:
        peer.close()


def test_a_timer_that_fires_for_a_batch_that_has_left(setup: Setup, unix_pair: Pair) -> None:
    """What follows a full batch was left to the timer of that batch, which ended no hold."""
    ours, peer = unix_pair
    body = bytes(70_000)

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(b"head")
        await asyncio.sleep(HOLD_S / 4)
        transport.write(body)
        assert await receive_soon(peer, 4 + len(body)) == b"head" + body
        await asyncio.sleep(HOLD_S / 4)
        transport.write(b"trailer")
        assert await receive_soon(peer, 7) == b"trailer"
        transport.abort()

    setup.run(program, strategy=tinygram.coalesce(HOLD_S * 1e6))


@pytest.mark.parametrize(
    "strategy", [tinygram.tick, tinygram.coalesce(500), tinygram.competitive(500)], ids=str
)
def test_a_signal_handler_that_writes_while_the_loop_waits(
    setup: Setup, unix_pair: Pair, strategy: tinygram.Strategy
) -> None:
    """What `signal.signal`'s handler wrote was held until something else woke the loop.

    On a stock loop it still is, as what such a handler does with `call_soon` (decision 0007).
    """
    ours, peer = unix_pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        signal.signal(signal.SIGUSR1, lambda *_: transport.write(b"goodbye"))
        loop = asyncio.get_running_loop()
        waking = asyncio.create_task(wake_now_and_then())
        assert await loop.run_in_executor(None, interrupt_and_receive) == b"goodbye"
        waking.cancel()
        transport.abort()

    async def wake_now_and_then() -> None:
        while setup.name == "opened-asyncio":
            await asyncio.sleep(0.5)

    def interrupt_and_receive() -> bytes:
        main_thread = threading.main_thread()
        assert main_thread.ident is not None
        # A signal that comes just before the loop waits is handled when something else wakes it.
        wait_until_asleep(main_thread)
        signal.pthread_kill(main_thread.ident, signal.SIGUSR1)
        peer.settimeout(SOON_S)
        return peer.recv(100)

    before = signal.getsignal(signal.SIGUSR1)
    try:
        setup.run(program, strategy=strategy)
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("fast", [1, 10, 200, 5000])
def test_a_plain_loop_that_becomes_slow_after_it_was_fast(unix_pair: Pair, fast: int) -> None:
    """The clock was asked as rarely as while messages came fast: holds were a hundred times due."""
    ours, peer = unix_pair
    with tinygram.batch(ours, strategy=tinygram.coalesce(1000)) as out:
        for _ in range(2):  # It becomes fast again, and slow again.
            for _ in range(fast):
                out.send(b"fast;")
                if waiting_bytes(peer):
                    peer.recv(1 << 18)
            peer_has = waiting_bytes(peer)
            held_bytes = out.held_bytes
            for number in range(8):
                time.sleep(0.02)
                out.send(b"slow;")
                # This one may be held, but what was sent before it is due since long.
                if number:
                    assert waiting_bytes(peer) >= peer_has + held_bytes
                held_bytes += 5
