"""Many connections with a few messages each in an iteration: with `adaptive`, a write each."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack

import pytest
from tests.library.setups import Connector, Recorder, Setup

import tinygram

ITERATIONS = 20
PASS_S = 0.0011
"""Two of these make an iteration slow that has messages for a few connections."""


def totals(setup: Setup, connections: int, messages: int, pass_s: float) -> tuple[int, int]:
    """Messages and writes of a program that publishes `messages` to all in each iteration.

    `pass_s`: how long it takes to go through all connections, at least.
    """

    async def program(connector: Connector) -> list[tinygram.Stats]:
        with ExitStack() as peers:
            transports = []
            for _ in range(connections):
                ours, peer = socket.socketpair()
                peers.enter_context(peer)
                transports.append(await connector.protocol(Recorder(), ours))
            for _ in range(ITERATIONS):
                for _ in range(messages):
                    for transport in transports:
                        transport.write(b"x" * 10)
                    time.sleep(pass_s)
                await asyncio.sleep(0.001)
            stats = [transport.stats() for transport in transports]
            for transport in transports:
                transport.close()
            return stats

    stats = setup.run(program)
    return sum(one.messages for one in stats), sum(one.writes for one in stats)


@pytest.mark.parametrize("messages", [1, 2])
def test_a_round_to_all_connections_is_a_write_for_each(setup: Setup, messages: int) -> None:
    rounds = 100 * ITERATIONS
    handed_over, writes = totals(setup, 100, messages, 0)
    assert handed_over == rounds * messages
    if messages == 1:
        assert writes == rounds
    else:
        # The first message ever was not known to have a second, nor is one after an iteration that
        # the host has made slow.
        assert rounds <= writes <= 1.25 * rounds


def test_a_round_that_takes_long_since_it_goes_to_many_is_a_write_for_each(setup: Setup) -> None:
    rounds = 300 * ITERATIONS
    handed_over, writes = totals(setup, 300, 2, PASS_S)
    assert handed_over == 2 * rounds
    # A host that is busy may make an iteration slow for so many, too; a write for each message is
    # 2 rounds.
    assert rounds <= writes <= 1.5 * rounds
