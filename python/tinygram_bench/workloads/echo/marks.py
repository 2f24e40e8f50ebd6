"""The resources that a server has used, asked for at the start and the end, while it is idle.

A server of ours answers this itself, on a thread that sleeps in between. For another program the
kernel tells the CPU time of all living processes of its session.
"""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from tinygram_bench import _native
from tinygram_bench.host.probes.calls import TIMES, times_so_far
from tinygram_bench.model.value import Value
from tinygram_bench.processes.cpu_clock import cpu_ns
from tinygram_bench.processes.workers import session_of

if TYPE_CHECKING:
    from tinygram_bench.processes.children import Told
    from tinygram_bench.processes.orders import Orders
    from tinygram_bench.runs.stage import Turn
    from tinygram_bench.workloads.echo.servers.service import Service

USED = (
    "cpu_ns",
    "voluntary_context_switches",
    "involuntary_context_switches",
    "writes",
    "written_bytes",
    "would_block",
    *TIMES,
)
"""The names of what is told; a value is None where it is not known."""
_COUNT_LIMIT_S = 5.0
_STEP_S = 0.001

ServerUsed = dict[str, int | None]


class Mark(Value, frozen=True):
    """The order to a server of ours to tell what it has used so far."""


class Marks(Protocol):
    def used(self) -> ServerUsed:
        """Everything in USED so far, and `strangers` of a server of ours. Raises RunError."""

    def pids(self) -> tuple[int, ...]:
        """The server's living processes; empty where they are not known here."""


def rested(marks: Marks, replied_bytes: int) -> ServerUsed:
    """What was used, once all writes of `replied_bytes` are counted, or 5 s have passed.

    A reply may come back before its write is counted, because the server's thread may be stopped
    between the two. Raises RunError.
    """
    give_up_s = time.monotonic() + _COUNT_LIMIT_S
    used = marks.used()
    while _lags(used, replied_bytes) and time.monotonic() < give_up_s:
        time.sleep(_STEP_S)
        used = marks.used()
    return used


def _lags(used: ServerUsed, replied_bytes: int) -> bool:
    written_bytes = used["written_bytes"]
    return written_bytes is not None and written_bytes < replied_bytes


def since(earlier: ServerUsed, later: ServerUsed) -> ServerUsed:
    """What was used in between; None where it is not known.

    It is not known where the later total is less: ended processes of another program are no longer
    counted.
    """
    used: ServerUsed = {}
    for name in USED:
        before, now = earlier[name], later[name]
        used[name] = None if before is None or now is None or now < before else now - before
    return used


def answer_marks(orders: Orders, service: Service) -> None:
    """Answer each line with what this process has used; exit when the channel ends."""
    with suppress(OSError):  # The asking side has ended without having read the answer.
        while orders.hear(Mark) is not None:
            orders.say(_own() | {"strangers": service.strangers()})
    os._exit(0)


def _own() -> ServerUsed:
    used = resource.getrusage(resource.RUSAGE_SELF)
    writes, written_bytes, would_block = _native.write_counts() or (None, None, None)
    return {
        "cpu_ns": round((used.ru_utime + used.ru_stime) * 1e9),
        "voluntary_context_switches": used.ru_nvcsw,
        "involuntary_context_switches": used.ru_nivcsw,
        "writes": writes,
        "written_bytes": written_bytes,
        "would_block": would_block,
        **times_so_far(),
    }


class OwnMarks:
    """The marks of a server of ours."""

    def __init__(self, turn: Turn, server: Told) -> None:
        self._turn = turn
        self._server = server

    def used(self) -> ServerUsed:
        """Like `Marks.used`. Raises RunError when the server has ended."""
        self._server.tell(Mark())
        return self._turn.hear(self._server, ServerUsed)

    def pids(self) -> tuple[int, ...]:
        return self._server.pids


class SessionMarks:
    """The marks of another program, whose first process began the session `pid`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def used(self) -> ServerUsed:
        """The CPU time of its living processes."""
        return dict.fromkeys(USED) | {"cpu_ns": sum(map(_living_cpu_ns, self.pids()))}

    def pids(self) -> tuple[int, ...]:
        return session_of(self._pid)


def _living_cpu_ns(pid: int) -> int:
    try:
        return cpu_ns(pid)
    except OSError:
        return 0


class NoMarks:
    """The empty marks of a server that runs already, here or on another host."""

    def used(self) -> ServerUsed:
        return dict.fromkeys(USED)

    def pids(self) -> tuple[int, ...]:
        return ()
