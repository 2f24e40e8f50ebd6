"""The processes of a run of `rr`: a server and processes of callers, spoken to in lines."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

import msgspec

from tinygram.bench.interrupts import INTERRUPTS
from tinygram.bench.network import Network
from tinygram.bench.result import Value
from tinygram.bench.warm_worker import WarmWorker
from tinygram.bench.workers import RunError

PACKAGE = "tinygram.bench.workloads.rr"
_GRACE_S = 2.0


class Parties:
    """All processes of a run; they end with the `ExitStack`."""

    def __init__(self, stack: ExitStack, network: Network, timeout_s: float) -> None:
        self._stack = stack
        self._network = network
        self._timeout_s = timeout_s
        self._give_up_s = time.monotonic() + timeout_s
        self._all: list[WarmWorker] = []

    @property
    def give_up_ns(self) -> int:
        """When the run has failed, CLOCK_MONOTONIC."""
        return round(self._give_up_s * 1e9)

    def start(self, role: str, module: str, order: Value) -> WarmWorker:
        """Start a process in the run's network, and tell it what to do. Raises RunError."""
        with INTERRUPTS.held(), self._network.entered():
            command = [sys.executable, "-m", f"{PACKAGE}.{module}"]
            party = WarmWorker(self._stack, role, command, None, [])
        self._all.append(party)
        party.tell(msgspec.json.encode(order))
        return party

    def lines(self, of: Sequence[WarmWorker], beside: Sequence[WarmWorker] = ()) -> list[bytes]:
        """Sleep until each of these has said a line.

        Raises RunError when one of them, or of those beside, has ended, and when time is up.
        """
        said: dict[WarmWorker, bytes] = {}
        while True:
            for party in of:
                if party not in said and (line := party.take_line()) is not None:
                    said[party] = line
            if len(said) == len(of):
                return [said[party] for party in of]
            self._wait([party for party in of if party not in said], beside)

    def _wait(self, silent: Sequence[WarmWorker], beside: Sequence[WarmWorker]) -> None:
        watched = [*silent, *beside]
        poll = select.poll()
        for party in watched:
            poll.register(party.fileno(), select.POLLIN)
        ready = poll.poll(max(0.0, self._give_up_s - time.monotonic()) * 1000)
        if not ready:
            roles = " and the ".join(party.worker.role for party in silent)
            raise RunError(f"the {roles} did not finish within {self._timeout_s:g} s")
        descriptors = {descriptor for descriptor, _ in ready}
        for party in watched:
            if party.fileno() in descriptors and not party.read():
                raise RunError(self._failure())

    def _failure(self) -> str:
        """Why one of them ended; the others may say why, too."""
        give_up_s = time.monotonic() + _GRACE_S
        failures = []
        for party in self._all:
            party.worker.wait_ended(max(0.0, give_up_s - time.monotonic()))
            if party.worker.has_ended and party.worker.failure:
                failures.append(party.worker.failure)
        return "; ".join(failures) or "a process ended early"
