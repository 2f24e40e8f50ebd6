"""Many connections with a few messages each in an iteration: with `adaptive`, a write each."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack

import pytest
from tests.library.setups import Connector, Recorder, Setup

ITERATIONS = 10
PASS_S = 0.0011
"""Two of these make an iteration slow that has messages for a few connections."""
SLOW_EACH_S = 40e-6
"""An iteration with messages for many connections is slow from this time for each of them on."""
SURELY_RESTED_S = 1e-4
"""After so long without an iteration a loop has rested, whatever it was busy with before."""
SURELY_KNOWN = 5
"""In so many calm iterations `adaptive` has looked whether several messages come in one."""
MOST_ITERATIONS = 5000


def messages_and_writes(
    setup: Setup, connections: int, messages: int, pass_s: float
) -> list[tuple[int, int]]:
    """The messages and writes of iterations, each of which publishes `messages` to all connections.

    `pass_s`: how long it takes to go through all connections, at least. The first message ever was
    not known to have a second, nor how many connections there are; and where the host makes an
    iteration slow, messages leave at once until several are seen to come again. So an iteration
    counts that was not slow, after some that were not, either, each with a rest after it.
    """

    async def program(connector: Connector) -> list[tuple[int, int]]:
        with ExitStack() as peers:
            transports, ends = [], []
            for _ in range(connections):
                ours, peer = socket.socketpair()
                ends.append(peers.enter_context(peer))
                peer.setblocking(False)
                transports.append(await connector.protocol(Recorder(), ours))
            counted: list[tuple[int, int]] = []
            made = (0, 0)
            calm, ended_s = 0, time.monotonic()
            for _ in range(MOST_ITERATIONS):
                begun_s = time.monotonic()
                calm = calm if begun_s - ended_s >= SURELY_RESTED_S else 0
                for _ in range(messages):
                    for transport in transports:
                        transport.write(b"x" * 10)
                    if pass_s:
                        time.sleep(pass_s)
                await asyncio.sleep(0)
                # Its end was before: from the first message to there it lasts.
                ended_s = time.monotonic()
                is_slow = ended_s - begun_s >= connections * SLOW_EACH_S
                stats = [transport.stats() for transport in transports]
                before, made = made, (sum(s.messages for s in stats), sum(s.writes for s in stats))
                if calm >= SURELY_KNOWN and not is_slow:
                    counted.append((made[0] - before[0], made[1] - before[1]))
                calm = 0 if is_slow else calm + 1
                for end in ends:
                    assert len(end.recv(1000)) == 10 * messages
                if len(counted) == ITERATIONS:
                    break
                await asyncio.sleep(0.001)
            for transport in transports:
                transport.close()
            return counted

    return setup.run(program)


@pytest.mark.parametrize("messages", [1, 2])
def test_a_round_to_all_connections_is_a_write_for_each(setup: Setup, messages: int) -> None:
    counted = messages_and_writes(setup, 100, messages, 0)
    assert counted == [(100 * messages, 100)] * ITERATIONS


def test_a_round_that_takes_long_since_it_goes_to_many_is_a_write_for_each(setup: Setup) -> None:
    counted = messages_and_writes(setup, 300, 2, PASS_S)
    assert counted == [(600, 300)] * ITERATIONS
