"""Many connections with one or two messages each in an iteration: with `adaptive`, a write each."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

import pytest
from tests.library.setups import Connector, Recorder, Setup

import tinygram

CONNECTIONS = 100
ITERATIONS = 20


@pytest.mark.parametrize("messages", [1, 2])
def test_a_round_to_all_connections_is_a_write_for_each(setup: Setup, messages: int) -> None:
    async def program(connector: Connector) -> list[tinygram.Stats]:
        with ExitStack() as peers:
            transports = []
            for _ in range(CONNECTIONS):
                ours, peer = socket.socketpair()
                peers.enter_context(peer)
                transports.append(await connector.protocol(Recorder(), ours))
            for _ in range(ITERATIONS):
                for _ in range(messages):
                    for transport in transports:
                        transport.write(b"x" * 10)
                await asyncio.sleep(0.001)
            stats = [transport.stats() for transport in transports]
            for transport in transports:
                transport.close()
            return stats

    stats = setup.run(program)
    assert sum(one.messages for one in stats) == CONNECTIONS * ITERATIONS * messages
    writes = sum(one.writes for one in stats)
    rounds = CONNECTIONS * ITERATIONS
    if messages == 1:
        assert writes == rounds
    else:
        # The first message ever was not known to have a second, nor is one after an iteration that
        # the host has made slow.
        assert rounds <= writes <= 1.25 * rounds, stats[0]
