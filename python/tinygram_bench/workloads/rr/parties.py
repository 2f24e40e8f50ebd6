"""The processes of a run of `rr`: a server and processes of callers, spoken to in lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

import msgspec

from tinygram_bench.host.network import Network
from tinygram_bench.model.value import Value
from tinygram_bench.processes.channel import LineWorker, wait_lines

PACKAGE = "tinygram_bench.workloads.rr"


class Parties:
    """All processes of a run; they end with the `ExitStack`."""

    def __init__(self, stack: ExitStack, timeout_s: float) -> None:
        self._stack = stack
        self._timeout_s = timeout_s
        self._give_up_s = time.monotonic() + timeout_s

    @property
    def give_up_ns(self) -> int:
        """When the run has failed, CLOCK_MONOTONIC."""
        return round(self._give_up_s * 1e9)

    def start(self, host: Network, role: str, module: str, order: Value) -> LineWorker:
        """Start a process on a host of the run, and tell it what to do. Raises RunError."""
        with host.entered():
            command = [sys.executable, "-m", f"{PACKAGE}.{module}"]
            party = LineWorker(self._stack, role, command, None, [])
        party.tell(msgspec.json.encode(order))
        return party

    def lines(self, of: Sequence[LineWorker], beside: Sequence[LineWorker] = ()) -> list[bytes]:
        """Sleep until each of these has said a line.

        Raises RunError when one of them, or of those beside, has ended, and when time is up.
        """
        late = f"did not finish within {self._timeout_s:g} s"
        return wait_lines(of, self._give_up_s, late, beside)
