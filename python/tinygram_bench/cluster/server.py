"""A host of far ends: does what `tinygram serve` does, in a thread, for a run's generators."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import ExitStack, closing, suppress
from math import inf

from tinygram_bench.cluster.order import ServerOrder
from tinygram_bench.far.limits import Limits
from tinygram_bench.far.server import Server
from tinygram_bench.host.write_counter import counting
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.difference import Difference
from tinygram_bench.hosts.far_host import FarHost

_TIME_S = 7 * 24 * 3_600.0
_PROCESSES = 256
_MEMORY_BYTES = 8 << 30
_CONNECTIONS = 500_000
_BYTES = 1 << 60
_BACKLOG = 1_024
_SPARE = 2
"""Clients in addition to the generators: another server asks for the time."""


class FarEnds:
    """The far ends of a host, served until `close`; clients ask for them at `port`."""

    def __init__(self, order: ServerOrder) -> None:
        """Raises OSError."""
        self._order = order
        self._others: dict[FarAddress, FarHost] = {}
        self._clients = ExitStack()
        listener = socket.create_server((order.host, 0), backlog=_BACKLOG)
        self.port: int = listener.getsockname()[1]
        limits = Limits(
            time_s=_TIME_S,
            processes=_PROCESSES,
            memory_bytes=_MEMORY_BYTES,
            connections=_CONNECTIONS,
            bytes=_BYTES,
            rate_bytes_per_s=inf,
            clients=order.clients + _SPARE,
            together=order.clients + _SPARE,
        )
        self._loop = asyncio.new_event_loop()
        self._serving = self._loop.create_task(self._serve(listener, limits))
        self._thread = threading.Thread(target=self._until_closed, name="far-ends", daemon=True)
        self._thread.start()

    def clock_of(self, other: FarAddress) -> Difference:
        """The difference of another server's clock from ours. Raises UsageError and RunError."""
        host = self._others.get(other)
        if host is None:
            host = self._clients.enter_context(closing(FarHost(other, self._order.other_keys)))
            self._others[other] = host
        host.clock.look()
        return host.clock.difference_now()

    def close(self) -> None:
        self._clients.close()
        with suppress(RuntimeError):  # The loop is closed where the listener has failed.
            self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join()

    async def _serve(self, listener: socket.socket, limits: Limits) -> None:
        with listener, counting() as library:
            await Server(limits, self._order.keys, library).run(listener)

    def _until_closed(self) -> None:
        async def served() -> None:
            await self._serving

        # The runner also ends what is still done for clients.
        with (
            suppress(asyncio.CancelledError),
            asyncio.Runner(loop_factory=lambda: self._loop) as runner,
        ):
            runner.run(served())


def now_ns() -> int:
    """The time of this host's clock (CLOCK_MONOTONIC)."""
    return time.monotonic_ns()
