"""The cases that are up together for a round: those of a load take turns in slices, on a stage
each; those whose single samples alternate have one stage, and one process at each end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from tinygram_bench.host.network import keep_windows
from tinygram_bench.links import Link
from tinygram_bench.model.result import Case, Run, Warning
from tinygram_bench.processes.workers import RunError
from tinygram_bench.run import reaching
from tinygram_bench.run.attempts import attempt, checked
from tinygram_bench.run.slices import LEAST_MESSAGES, Slices, Used, table, used_in_slices
from tinygram_bench.run.stage import Address, Stage, Turn
from tinygram_bench.run.workload import Rehearsed, Waiting, Workload

_LEAD_NS = 50_000_000
"""From telling the sides of a group their start to the start: each must have been told."""
_LEAST_ROWS = 4
"""However many messages there are at a time, a slice has time for so many one after the other."""
_LONGEST = 2
"""A message that is under way when a slice ends takes at most so many times as long as usual."""
_TICK_NS = 4_000_000
"""For so long at least another program's turn on a core lasts (CONFIG_HZ 250)."""


_WINDOWS_RESTART = Warning(
    "windows_restart",
    "connections may begin each slice with a small congestion window: "
    "net.ipv4.tcp_slow_start_after_idle cannot be set to 0 here",
)


@dataclass(frozen=True)
class _Rehearsal:
    """A case that is up, and has tried what it will do."""

    turn: Turn
    address: Address | None
    found: Rehearsed
    keeps_windows: bool


@dataclass(frozen=True)
class _Side:
    """A case that waits for its first slice."""

    turn: Turn
    slices: Slices
    waiting: Waiting
    keeps_windows: bool


@dataclass(frozen=True)
class Group:
    """Cases of a load, in a round. `slice_ns`: as asked; slow messages make slices longer."""

    workload: Workload
    cases: Sequence[Case]
    round: int
    slice_ns: int

    def run(self, stack: ExitStack, set_up: Callable[[Case], Stage]) -> list[Run]:
        """A run of each case; `set_up` makes its stage, which ends with `stack`."""
        rehearsals = [
            attempt(case, self.round, partial(self._rehearsed, stack, set_up, case))
            for case in self.cases
        ]
        found = [Rehearsed() if isinstance(each, Run) else each.found for each in rehearsals]
        turns = self._turns(found)
        sides = [
            each
            if isinstance(each, Run)
            else attempt(each.turn.case, self.round, partial(self._warmed_up, each, slices))
            for each, slices in zip(rehearsals, turns, strict=True)
        ]
        ready = [side for side in sides if isinstance(side, _Side)]
        start_ns = time.monotonic_ns() + _LEAD_NS
        for side in ready:
            side.turn.begin()
            side.waiting.start(start_ns)
        give_up_s = max((side.turn.give_up_s for side in ready), default=0.0)
        timed = [(side.slices, side.waiting.pids) for side in ready]
        used = iter(used_in_slices(start_ns, timed, give_up_s))
        runs = [each if isinstance(each, Run) else _collected(each, next(used)) for each in sides]
        return reaching.told(runs, turns)

    def _rehearsed(
        self, stack: ExitStack, set_up: Callable[[Case], Stage], case: Case
    ) -> _Rehearsal:
        """Raises OSError and RunError."""
        limit_s = self.workload.limit_s(case) * len(self.cases)
        turn = Turn(set_up(case), stack, case, self.round, limit_s)
        keeps_windows = _keep_windows(turn.link)
        address = self.workload.listen(turn)
        turn.begin()
        return _Rehearsal(turn, address, self.workload.rehearsed(turn, address), keeps_windows)

    def _turns(self, found: Sequence[Rehearsed]) -> Sequence[Slices]:
        """Slices that have a few messages of the slowest case, and gaps as long as its messages."""
        own_ns = self.workload.own_ns(self.cases[0])
        least_ns = (
            max(LEAST_MESSAGES // each.at_a_time, _LEAST_ROWS) * each.message_ns for each in found
        )
        slice_ns = min(own_ns, max(self.slice_ns, *least_ns))
        waits_ns = [
            self.workload.waits_ns(case) + _LONGEST * each.message_ns
            for case, each in zip(self.cases, found, strict=True)
        ]
        seed = f"{self.workload.seed}/{self.round}/{self.cases[0].case_id}"
        return table(evened(waits_ns), own_ns, slice_ns, seed)

    def _warmed_up(self, rehearsal: _Rehearsal, slices: Slices) -> _Side:
        turn = rehearsal.turn
        waiting = self.workload.warmed_up(turn, rehearsal.address, slices)
        return _Side(turn, slices, waiting, rehearsal.keeps_windows)


def evened(waits_ns: Sequence[int]) -> list[int]:
    """Waits of which none is below the longest one, or a tick of the scheduler if that is less.

    Or after such a tick messages of cases with short waits would come in the slices of those with
    long ones, and never the other way round.
    """
    least_ns = min(max(waits_ns), _TICK_NS)
    return [max(each, least_ns) for each in waits_ns]


@dataclass(frozen=True)
class Alternation:
    """Cases of a link whose single samples alternate, in a round.

    Slices would need processes for each of them, and lie seconds apart where the cases are many.
    """

    workload: Workload
    cases: Sequence[Case]
    round: int

    def run(self, stack: ExitStack, set_up: Callable[[Case], Stage]) -> list[Run]:
        """A run of each case; `set_up` makes the stage of all, which ends with `stack`."""
        began_ns = time.monotonic_ns()
        found = attempt(self.cases[0], self.round, partial(self._alternated, stack, set_up))
        if isinstance(found, Run):  # What failed was nobody's sample.
            return [replace(found, case_id=case.case_id) for case in self.cases]
        took_ns = time.monotonic_ns() - began_ns
        return [
            attempt(case, self.round, partial(checked, run, took_ns))
            for case, run in zip(self.cases, found, strict=True)
        ]

    def _alternated(self, stack: ExitStack, set_up: Callable[[Case], Stage]) -> list[Run]:
        """Raises OSError and RunError."""
        first = self.cases[0]
        limit_s = self.workload.limit_s(first) * len(self.cases)
        turn = Turn(set_up(first), stack, first, self.round, limit_s)
        return turn.link.added_to_all(self.workload.alternated(turn, self.cases))


def _collected(side: _Side, used: Used) -> Run:
    turn = side.turn
    began_ns = round(turn.begun_s * 1e9)

    def collect() -> Run:
        try:
            exchanged = side.waiting.collect(used)
        except RunError as failure:
            raise turn.explained(failure) from failure
        run = turn.link.added_to(exchanged.run)
        if not side.keeps_windows:
            run = replace(run, warnings=(*run.warnings, _WINDOWS_RESTART))
        return checked(run, time.monotonic_ns() - began_ns)

    return attempt(turn.case, turn.round, collect)


def _keep_windows(link: Link) -> bool:
    """Have connections over the link keep their congestion window between slices.

    False where that is not permitted; loopback has no window that is too small.
    """
    kept = []
    for network in (link.near, link.far):
        if network.is_private:
            with network.entered():
                kept.append(keep_windows())
    return all(kept) or link.is_one_host
