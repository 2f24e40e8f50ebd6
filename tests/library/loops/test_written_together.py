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


def work(for_us: float) -> None:
    """Compute, as a handler does before it answers."""
    until_ns = time.perf_counter_ns() + round(for_us * 1e3)
    while time.perf_counter_ns() < until_ns:
        pass


@pytest.mark.parametrize("work_us", [0, 15, 20, 50])
def test_tasks_that_write_to_one_connection_in_turn_share_writes(
    setup: Setup, unix_pair: Pair, work_us: float
) -> None:
    """From 20 µs of work on each of their messages was a write of its own."""
    ours, peer = unix_pair

    async def program(connector: Connector) -> tinygram.Stats:
        transport = await connector.protocol(Recorder(), ours)

        async def answer() -> None:
            for _ in range(ITERATIONS):
                work(work_us)
                transport.write(b"x" * 10)
                await asyncio.sleep(0)

        await asyncio.gather(*(answer() for _ in range(TASKS)))
        assert await receive(peer, 10 * TASKS * ITERATIONS) == b"x" * 10 * TASKS * ITERATIONS
        stats: tinygram.Stats = transport.stats()
        transport.close()
        return stats

    stats = setup.run(program)
    assert stats.messages == TASKS * ITERATIONS
    # In an iteration of more than 2 ms, a write for each of them.
    assert stats.messages / stats.writes >= 15, stats


@pytest.mark.parametrize("work_us", [0, 30, 500])
def test_a_header_and_a_body_are_one_write(setup: Setup, unix_pair: Pair, work_us: float) -> None:
    ours, peer = unix_pair
    answers = 50

    async def program(connector: Connector) -> tinygram.Stats:
        transport = await connector.protocol(Recorder(), ours)
        for _ in range(answers):
            transport.write(b"header ")
            work(work_us)
            transport.write(b"body ")
            await asyncio.sleep(0.001)
        assert await receive(peer, 12 * answers) == b"header body " * answers
        stats: tinygram.Stats = transport.stats()
        transport.close()
        return stats

    stats = setup.run(program)
    # The first header was not known to have a body, nor are those after an iteration of 2 ms, which
    # the host may make of any.
    assert stats.writes <= 1.2 * answers, stats


def test_a_single_message_leaves_before_its_iteration_ends(setup: Setup, unix_pair: Pair) -> None:
    ours, peer = unix_pair
    peer.setblocking(False)

    async def program(connector: Connector) -> int:
        transport = await connector.protocol(Recorder(), ours)
        at_once = 0
        for _ in range(100):
            transport.write(b"x")
            with contextlib.suppress(BlockingIOError):
                at_once += len(peer.recv(10))
            await asyncio.sleep(0.001)
        transport.close()
        return at_once

    # But where the host has made iterations follow each other, and one looks whether waiting pays.
    assert setup.run(program) >= 90
