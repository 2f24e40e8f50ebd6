"""A host of far ends: what generators ask for there, and the servers under test that they share.

It does what `tinygram serve` does, in a thread, for a run's generators.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from math import inf
from typing import TypeVar

from msgspec import Struct, field

from tinygram_bench.cluster.order import Offered, OfferOrder, ServerOrder
from tinygram_bench.cluster.shares import check_server_descriptors
from tinygram_bench.far.limits import Limits
from tinygram_bench.far.server import Server
from tinygram_bench.host.network.connections import Known
from tinygram_bench.host.write_counter import counting
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.difference import Difference
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.links import Link
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case
from tinygram_bench.processes.children import Told
from tinygram_bench.processes.orders import End, Listening
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.stage import Stage, Turn
from tinygram_bench.workloads.echo.marks import OwnMarks, ServerUsed, rested, since
from tinygram_bench.workloads.echo.run import SERVER, Echo
from tinygram_bench.workloads.rr.run import Rr

T = TypeVar("T")
WITH_SERVERS: Mapping[str, Callable[[int], Echo | Rr]] = {"echo": Echo, "rr": Rr}
"""The workloads with a server under test. A stream's receiver is none: each sender has its own."""
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
            await Server(limits, self._order.keys, library, self._order.token).run(listener)

    def _until_closed(self) -> None:
        async def served() -> None:
            await self._serving

        # The runner also ends what is still done for clients.
        with (
            suppress(asyncio.CancelledError),
            asyncio.Runner(loop_factory=lambda: self._loop) as runner,
        ):
            runner.run(served())


class OfferedServers:
    """The servers under test of a round: one process for each case, which all generators load.

    They are started by a thread of their own, because they die with the one that started them.
    """

    def __init__(self, order: ServerOrder, stack: ExitStack) -> None:
        """They end with the stack."""
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="servers")
        self._thread = stack.enter_context(thread)
        self._link = Link(far_address=order.host, client=Known(token=order.token))
        self._counting = stack.enter_context(counting())
        self._round = stack.enter_context(ExitStack())
        self._served: list[_Served | None] = []

    def offer(self, order: OfferOrder) -> tuple[Offered, ...]:
        """Start them, and end those of the round before."""
        return self._thread.submit(self._offered, order).result()

    def rest(self, replied_bytes: Sequence[int]) -> None:
        """All generators have warmed up: what is used from now on counts.

        `replied_bytes`: of each case, what its server has sent back by now, or less.
        """
        self._asked(_Served.rest, replied_bytes)

    def counted(self, replied_bytes: Sequence[int]) -> tuple[ServerUsed | None, ...]:
        """What each server has used since; None where it has failed."""
        return self._asked(_Served.counted, replied_bytes)

    def _offered(self, order: OfferOrder) -> tuple[Offered, ...]:
        self._round.close()
        self._served.clear()
        workload = WITH_SERVERS[order.workload](order.seed)
        return tuple(self._started(workload, case, order.round) for case in order.cases)

    def _started(self, workload: Echo | Rr, case: Case, round: int) -> Offered:
        self._served.append(None)
        try:
            check_server_descriptors(case)
            where = workload.where(case)
            stage = Stage(self._round, self._link, where, self._counting, placement=case.placement)
            turn = Turn(stage, self._round, case, round, workload.limit_s(case))
            address = workload.listen(turn)
            if isinstance(workload, Rr):
                workload.check_waits(turn, address)
        except (OSError, RunError, UsageError) as failure:
            return Offered(None, f"on the server's host, {failure}")
        self._served[-1] = _Served(turn, turn.stage.child(SERVER))
        return Offered(Listening(address.port, stage.shown))

    def _asked(
        self, ask: Callable[[_Served, int], T], replied_bytes: Sequence[int]
    ) -> tuple[T | None, ...]:
        found: list[T | None] = []
        for index, (served, count) in enumerate(zip(self._served, replied_bytes, strict=True)):
            try:
                found.append(None if served is None else ask(served, count))
            except (OSError, RunError):  # Its clients have failed, too, and say why.
                found.append(None)
                # It is asked no more: a late answer would be taken for that to the next question.
                self._served[index] = None
        return tuple(found)


class _Served(Struct):
    """A server under test, and what it had used when all of its clients had warmed up."""

    turn: Turn
    server: Told
    before: ServerUsed = field(default_factory=dict)

    def rest(self, replied_bytes: int) -> None:
        """Note what it has used so far. Raises RunError."""
        self.before = self._so_far(replied_bytes)

    def counted(self, replied_bytes: int) -> ServerUsed:
        """What it has used since, and its counters. Raises RunError."""
        after = self._so_far(replied_bytes)
        if self.turn.case.workload == "echo":
            return since(self.before, after) | {"strangers": after["strangers"]}
        self.server.tell(End())
        counters = self.turn.hear(self.server, dict[str, int])
        used_ns = (after["server_cpu_ns"] or 0) - (self.before["server_cpu_ns"] or 0)
        return {**counters, "server_cpu_ns": used_ns}

    def _so_far(self, replied_bytes: int) -> ServerUsed:
        self.turn.begin()
        if self.turn.case.workload == "echo":
            return rested(OwnMarks(self.turn, self.server), replied_bytes)
        return {"server_cpu_ns": self.server.cpu_ns()}


def now_ns() -> int:
    """The time of this host's clock (CLOCK_MONOTONIC)."""
    return time.monotonic_ns()
