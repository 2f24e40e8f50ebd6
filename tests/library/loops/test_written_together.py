"""What one iteration writes with `adaptive` leaves together, however slow the program is."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest
from tests.library.setups import Connector, Recorder, Setup, receive
from tests.library.wires import Pair

import tinygram

TASKS = 100
ITERATIONS = 10
SLOW_S = 2e-3
"""An iteration is slow from this time on: what it has held for so long leaves at once."""
REST_S = 1e-3
SURELY_RESTED_S = 1e-4
"""After so long without an iteration a loop has rested, whatever it was busy with before."""
LEARNT_FROM = 2
"""After so many answers with a body the next is expected to have one: one alone may be chance."""
COUNTED = 50
MOST_ITERATIONS = 2000


def work(for_us: float) -> None:
    """Compute, as a handler does before it answers."""
    until_ns = time.perf_counter_ns() + round(for_us * 1e3)
    while time.perf_counter_ns() < until_ns:
        pass


async def end_iteration() -> float:
    """Let the loop end its iteration; when that was over at the latest."""
    await asyncio.sleep(0)
    return time.monotonic()


@pytest.mark.parametrize("work_us", [0, 15, 20, 50])
def test_tasks_that_write_to_one_connection_in_turn_share_writes(
    setup: Setup, unix_pair: Pair, work_us: float
) -> None:
    """From 20 µs of work on each of their messages was a write of its own."""
    ours, peer = unix_pair

    async def program(connector: Connector) -> tuple[tinygram.Stats, float]:
        transport = await connector.protocol(Recorder(), ours)

        async def answer() -> None:
            for _ in range(ITERATIONS):
                work(work_us)
                transport.write(b"x" * 10)
                await asyncio.sleep(0)

        begun_s = time.monotonic()
        await asyncio.gather(*(answer() for _ in range(TASKS)))
        took_s = time.monotonic() - begun_s
        assert await receive(peer, 10 * TASKS * ITERATIONS) == b"x" * 10 * TASKS * ITERATIONS
        stats: tinygram.Stats = transport.stats()
        transport.close()
        return stats, took_s

    stats, took_s = setup.run(program)
    assert stats.messages == TASKS * ITERATIONS
    # Its first message and its end may be a write each, and so is every 2 ms of an iteration.
    assert stats.writes <= 2 * (ITERATIONS + 1) + took_s / SLOW_S, (stats, took_s)


@pytest.mark.parametrize("work_us", [0, 30, 500])
def test_a_header_and_a_body_are_one_write(setup: Setup, unix_pair: Pair, work_us: float) -> None:
    """Not of the first two answers, whose headers were not known to have a body, nor of the three
    after an iteration that the host has made slow: it may have parted a header from its body."""
    ours, peer = unix_pair

    async def program(connector: Connector) -> list[int]:
        transport = await connector.protocol(Recorder(), ours)
        counted: list[int] = []
        written, ended_s, seen = 0, 0.0, 0
        for _ in range(MOST_ITERATIONS):
            begun_s = time.monotonic()
            has_rested = begun_s - ended_s >= SURELY_RESTED_S
            transport.write(b"header ")
            work(work_us)
            transport.write(b"body ")
            ended_s = await end_iteration()
            assert await receive(peer, 12) == b"header body "
            before, written = written, transport.stats().writes
            is_slow = ended_s - begun_s >= SLOW_S
            if seen >= LEARNT_FROM and has_rested and not is_slow:
                counted.append(written - before)
            seen = -1 if is_slow else seen + 1
            if len(counted) == COUNTED:
                break
            await asyncio.sleep(REST_S)
        transport.close()
        return counted

    assert setup.run(program) == [1] * COUNTED


def test_a_single_message_leaves_before_its_iteration_ends(setup: Setup, unix_pair: Pair) -> None:
    """Not where the host has made iterations follow each other: then one may look whether waiting
    pays."""
    ours, peer = unix_pair
    peer.setblocking(False)

    async def program(connector: Connector) -> list[bool]:
        transport = await connector.protocol(Recorder(), ours)
        left_at_once: list[bool] = []
        ended_s = time.monotonic()
        for _ in range(MOST_ITERATIONS):
            await asyncio.sleep(REST_S)
            has_rested = time.monotonic() - ended_s >= SURELY_RESTED_S
            transport.write(b"x")
            at_once = b""
            with contextlib.suppress(BlockingIOError):
                at_once = peer.recv(10)
            ended_s = await end_iteration()
            if has_rested:
                left_at_once.append(at_once == b"x")
            if at_once != b"x":
                assert await receive(peer, 1) == b"x"
            if len(left_at_once) == COUNTED:
                break
        transport.close()
        return left_at_once

    assert setup.run(program) == [True] * COUNTED
