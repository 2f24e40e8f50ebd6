"""A generator: a bench on its own host, whose slices are in step with the other generators'.

It is driven from outside, a step at a time: `begin` sets the cases up, `warm` makes them ready for
slices on which all have agreed, `measure` starts them at a common time and answers their runs.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Any

from tinygram_bench.cluster.order import BeginOrder, GeneratorOrder, Measured, Offered
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.model.result import Run
from tinygram_bench.processes.orders import Listening
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.group import LEAD_NS
from tinygram_bench.runs.workload import TakesTurns
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.rr.run import Rr
from tinygram_bench.workloads.stream.run import Stream

WORKLOADS: Mapping[str, Callable[[GeneratorOrder], TakesTurns]] = {
    "stream": lambda order: Stream(order.seed, order.number),
    "rr": lambda order: Rr(order.seed, order.number),
    "echo": lambda order: Echo(order.seed, order.number),
}
"""The workloads that a cluster measures; shares.py says how they are shared."""
_NO_MORE = None
"""In place of an answer: the round is not wanted any more."""


class _Abandoned(BaseException):
    """The round is abandoned; this is no failure of a case, which would be kept."""


class _Steps:
    """The agreement of a group: it says what it needs, and hears what all hosts do."""

    def __init__(self, host: FarHost) -> None:
        self.said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.start_far_ns = 0
        self.start_near_ns = 0
        self.late_ns = 0
        self._host = host

    def lengths_ns(self, own_ns: Sequence[int]) -> Sequence[int]:
        self.said.put(list(own_ns))
        agreed: Sequence[int] = self._hear()
        return agreed

    def start_ns(self, round_trip_ns: int) -> int:  # noqa: ARG002 - all hosts agree on it
        self.said.put([])
        self.start_far_ns = self._hear()
        self.start_near_ns = self._host.clock.difference_now().near_ns(self.start_far_ns)
        # The processes must be told, too; after that moment, the start is late for some of them.
        self.late_ns = max(0, time.monotonic_ns() + LEAD_NS // 2 - self.start_near_ns)
        return self.start_near_ns

    def _hear(self) -> Any:
        heard = self.heard.get()
        if heard is _NO_MORE:
            raise _Abandoned
        return heard


def _listening(server: Offered) -> Listening:
    """Where the server listens. Raises RunError where it could not be started."""
    if server.listening is None:
        raise RunError(server.failure or "its server was not started")
    return server.listening


class Generator:
    """The generator of a host, from its first round to its last."""

    def __init__(self, order: GeneratorOrder) -> None:
        """Connect to the generator's server. Raises UsageError and RunError."""
        self._stack = ExitStack()
        address = FarAddress(order.host, order.host, order.port)
        with ExitStack() as stack:
            self._host = stack.enter_context(closing(FarHost(address, order.keys)))
            self._steps = _Steps(self._host)
            self._workload = WORKLOADS[order.workload](order)
            bench = running(self._workload, far_host=self._host, agreement=self._steps)
            self._bench = stack.enter_context(bench)
            self._stack = stack.pop_all()
        self._round: threading.Thread | None = None

    def begin(self, order: BeginOrder) -> list[int]:
        """Set up cases; return the least lengths of their slices and gaps, in ns."""
        self.abandon()
        self._workload.offered = {
            case.case_id: partial(_listening, server)
            for case, server in zip(order.cases, order.servers, strict=bool(order.servers))
        }
        self._round = threading.Thread(target=self._measure, args=(order,), daemon=True)
        self._round.start()
        return self._said()  # type: ignore[no-any-return]

    def warm(self, lengths_ns: Sequence[int]) -> None:
        """Make the cases ready for slices of these lengths."""
        self._steps.heard.put(lengths_ns)
        self._said()

    def measure(self, start_far_ns: int) -> Measured:
        """Start the cases at this time of the server's clock; return what was measured."""
        steps = self._steps
        steps.heard.put(start_far_ns)
        runs: list[Run] = self._said()
        return Measured(tuple(runs), *self._step_error(start_far_ns), steps.late_ns)

    def _step_error(self, start_far_ns: int) -> tuple[int | None, str | None]:
        """How wrong the start may have been, in ns, or None and why that is not known."""
        clock = self._host.clock
        try:
            clock.look()
            found = clock.followed(self._steps.start_near_ns)
        except RunError as failure:
            return None, str(failure)
        strayed_ns = abs(found.near_ns(start_far_ns) - self._steps.start_near_ns)
        return found.bound_ns + strayed_ns, None

    def abandon(self) -> None:
        """End a round that is not wanted any more, and the processes that it has started."""
        if self._round is not None:
            self._steps.heard.put(_NO_MORE)
            self._round.join()
            self._round = None
        for waiting in (self._steps.heard, self._steps.said):
            while not waiting.empty():
                waiting.get()

    def close(self) -> None:
        self.abandon()
        self._stack.close()

    def _said(self) -> Any:
        said = self._steps.said.get()
        if isinstance(said, Exception):
            raise said
        return said

    def _measure(self, order: BeginOrder) -> None:
        """Runs in a thread of its own: processes that it has started end with it."""
        with suppress(RunError):  # A lost server is reached again for the cases.
            self._host.clock.look()
        try:
            said: Any = list(self._bench.run_cases(order.cases, order.round))
        except _Abandoned:
            return
        except Exception as fault:  # noqa: BLE001 - whoever waits for the round is told
            said = fault
        self._steps.said.put(said)
