"""Prints for how many ns a loop that never waits held its messages: at most, and half of them.

Run with stepped_clock.so preloaded, so that time is how often the clock was asked: the same on any
host. Argument: the name of a set-up.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.library.setups import Connector, Setup

import tinygram


async def program(connect: Connector) -> tinygram.Stats:
    """A message in each iteration, of which none waits."""
    ours, peer = socket.socketpair()
    peer.setblocking(False)
    with peer:
        _, writer = await connect.streams(ours)
        transport = writer.transport
        assert isinstance(transport, tinygram.Transport)
        for _ in range(20_000):
            transport.write(b"x")
            await asyncio.sleep(0)
            with contextlib.suppress(BlockingIOError):
                peer.recv(1 << 16)
        stats = transport.stats()
        transport.abort()
        return stats


holds = Setup(sys.argv[1]).run(program).holds
print(holds.max_ns, holds.percentile_ns(50))
