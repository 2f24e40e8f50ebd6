"""The cases that are up together for a round: those of a load take turns in slices, on a stage
each; those whose single samples alternate have one stage, and one process at each end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tinygram_bench.host.network import is_own_address
from tinygram_bench.host.network.settings import keep_windows
from tinygram_bench.host.occupied import cores_of
from tinygram_bench.host.placement import placement
from tinygram_bench.hosts.clock import FEWEST_TRIPS
from tinygram_bench.links import Link
from tinygram_bench.model.result import Case, Run, Warning
from tinygram_bench.processes.children import as_they_answer
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs import overruns
from tinygram_bench.runs.attempts import attempt, checked
from tinygram_bench.runs.progress.live import Live
from tinygram_bench.runs.slices import Ends, Slices, Used, least_rows, table, used_in_slices
from tinygram_bench.runs.stage import Address, Stage, Turn
from tinygram_bench.runs.workload import Alternates, Rehearsed, TakesTurns, Waiting
from tinygram_bench.statistics.workloads.loads import SLICE_LASTED

LEAD_NS = 50_000_000
"""The time between telling all sides of a group when they start, and that start."""
_LONGEST = 2
"""A message under way when a slice ends takes at most this many times its usual time."""
_LEAST_PAUSE_NS = 1_000_000
_PAUSE_TRIPS = 2 * FEWEST_TRIPS
"""A pause has time for this many of the shortest round trips: others take longer."""
_GRACE_S = 10.0
"""How long a case, within its own limit, may still take to answer after others have stalled."""
_TICK_NS = 4_000_000
"""The least time that another program's turn on a core lasts (CONFIG_HZ 250)."""


_WINDOWS_RESTART = Warning(
    "windows_restart",
    "connections may begin each slice with a small congestion window: "
    "net.ipv4.tcp_slow_start_after_idle cannot be set to 0 at both ends",
)
U = TypeVar("U")


class Agreement(Protocol):
    """What groups of the same cases on several hosts agree on, so that their slices are in step."""

    def lengths_ns(self, own_ns: Sequence[int]) -> Sequence[int]:
        """In ns: how long a slice is, how long a pause, then each wait after a slice; the longest
        of all hosts.
        """

    def start_ns(self, round_trip_ns: int) -> int:
        """When the first slice begins (CLOCK_MONOTONIC of this host), once all hosts are ready.

        `round_trip_ns`: the round trip to the host of the far ends, which must be told in time,
        too.
        """


class _Alone:
    def lengths_ns(self, own_ns: Sequence[int]) -> Sequence[int]:
        return own_ns

    def start_ns(self, round_trip_ns: int) -> int:
        return time.monotonic_ns() + LEAD_NS + round_trip_ns


ALONE: Agreement = _Alone()
"""The agreement of groups on one host, which ask nobody."""


class _Up(Struct, frozen=True):
    """A case whose far end listens."""

    turn: Turn
    address: Address | None
    keeps_windows: bool


class _Side(Struct, frozen=True):
    """A case that waits for its first slice, or takes its turns.

    `is_paired`: another case runs at the same time, on the same stage.
    """

    up: _Up
    slices: Slices
    waiting: Waiting
    is_paired: bool


class Group(Struct, frozen=True):
    """The cases of a load in one round. `slice_ns`: as planned; slow messages make slices longer.

    How long they were is in each run (the counter `slice_lasted_ns`), and the report tells of it.
    Some may run at the same time (`TakesTurns.at_once`): they share a stage and their slices.
    """

    workload: TakesTurns
    cases: Sequence[Case]
    round: int
    slice_ns: int
    live: Live = field(default_factory=Live)
    agreement: Agreement = ALONE

    def run(self, stack: ExitStack, set_up: Callable[[Case], Stage]) -> list[Run]:
        """Make a run of each case; `set_up` makes its stage, which ends with `stack`.

        A case that fails, or stalls, is left out from then on, and the others lose nothing.
        """
        stages: dict[str, Stage] = {}
        begun = self._each(partial(self._begun, stack, set_up, stages), self.cases)
        up = self._each(self._listening, begun)
        rehearsed = self._each(self._rehearsed, up)
        turns = self._turns(rehearsed, up)
        warm = self._each(self._warmed_up, rehearsed, up, turns)
        ready = self._each(self._looked, warm)
        start_ns = self.agreement.start_ns(max(map(_round_trip_ns, up)))
        sides = self._each(partial(_started, start_ns), ready)
        give_up_s = self._give_up_s(start_ns, turns)
        at_turn = {number: each for number, each in enumerate(sides) if isinstance(each, _Side)}
        timed = [
            Ends(
                each.slices,
                each.waiting.pids,
                each.waiting.resting_pids,
                counts_acks=each.up.turn.link.counter_fds is not None and not each.is_paired,
            )
            for each in at_turn.values()
        ]
        cores = cores_of(placement(self.cases[0].placement))
        watched = [
            (self.cases[number], each.slices, each.waiting.resting_pids)
            for number, each in at_turn.items()
        ]
        far = [
            child.process
            for each in at_turn.values()
            for child in each.up.turn.stage.children
            if not child.pids
        ]

        def is_lost() -> bool:
            """Whether the far host, which all cases share, was lost."""
            return any(process.is_cut_off for process in far)

        with self.live.watching(watched) as between:
            used = used_in_slices(
                start_ns, timed, give_up_s, cores, between, is_lost, _pausing(at_turn)
            )
        # Cases that have stalled come last.
        numbers = list(at_turn)
        answering = [each.waiting.answering for each in at_turn.values()]
        beside = [each.up.turn.stage.children for each in at_turn.values()]
        for index, has_answered in as_they_answer(answering, give_up_s, beside):
            number = numbers[index]
            side = at_turn[number]
            limit_s = min(side.up.turn.limit_s, _GRACE_S) if has_answered else 0.0
            side.up.turn.give_up_s = max(give_up_s, time.monotonic() + limit_s)
            collect = partial(_collected, side, used[index])
            sides[number] = attempt(self.cases[number], self.round, collect)
        runs = [each for each in sides if isinstance(each, Run)]
        runs = self._added(runs, at_turn, start_ns)
        runs = overruns.restless_told(runs, turns, dict(zip(at_turn, used, strict=True)))
        return overruns.told(runs, turns)

    def _added(self, runs: list[Run], at_turn: Mapping[int, _Side], start_ns: int) -> list[Run]:
        """The runs with what their links did; those at the same time share a link and failures."""
        together: dict[str, list[int]] = {}
        for number, case in enumerate(self.cases):
            together.setdefault(self.workload.at_once(case), []).append(number)
        found = list(runs)
        for numbers in together.values():
            failures = [f for number in numbers if (f := runs[number].failure) is not None]
            for number in numbers:
                if failures and runs[number].failure is None:
                    message = f"what ran at the same time failed: {failures[0]}"
                    found[number] = Run(runs[number].case_id, self.round, {}, {}, failure=message)
            if not failures:
                side = at_turn[numbers[0]]
                of_these = [runs[number] for number in numbers]
                added = _added_to_all(side, of_these, start_ns)
                for number, run in zip(numbers, added, strict=True):
                    found[number] = run
        return found

    def _each(self, act: Callable[..., U], *of_cases: Sequence[Any]) -> list[U | Run]:
        """What `act` makes of each case; for one that has failed, or fails now, its failed run."""
        return [
            each
            if isinstance(each, Run)
            else attempt(case, self.round, partial(act, each, *others))
            for case, each, *others in zip(self.cases, *of_cases, strict=True)
        ]

    def _begun(
        self,
        stack: ExitStack,
        set_up: Callable[[Case], Stage],
        stages: dict[str, Stage],
        case: Case,
    ) -> Turn:
        """Start the case's far end; all far ends get ready for orders together. Raises RunError."""
        key = self.workload.at_once(case)
        if key not in stages:
            stages[key] = set_up(case)
        turn = Turn(stages[key], stack, case, self.round, self.workload.limit_s(case))
        self.workload.start_far(turn)
        return turn

    def _listening(self, turn: Turn) -> _Up:
        """Have the far end listen, and start the near end. Raises OSError and RunError."""
        turn.begin()
        with turn.explaining():
            address = self.workload.listen(turn)
            keeps_windows = _keep_windows(turn.link, address)
            self.workload.start_near(turn)
        return _Up(turn, address, keeps_windows)

    def _rehearsed(self, up: _Up) -> Rehearsed:
        up.turn.begin()
        with up.turn.explaining():
            return self.workload.rehearsed(up.turn, up.address)

    def _turns(
        self, rehearsed: Sequence[Rehearsed | Run], up: Sequence[_Up | Run]
    ) -> Sequence[Slices]:
        """Slices that hold a few messages of the slowest case, with gaps for messages under way."""
        found = [Rehearsed() if isinstance(each, Run) else each for each in rehearsed]
        own_ns = self.workload.own_ns(self.cases[0])
        least_ns = (least_rows(each.at_a_time) * each.message_ns for each in found)
        slice_ns = min(own_ns, max(self.slice_ns, *least_ns))
        waits_ns = [
            self._waits_ns(case, side) + _LONGEST * (each.message_ns + _round_trip_ns(side))
            for case, each, side in zip(self.cases, found, up, strict=True)
        ]
        seed = f"{self.workload.seed}/{self.round}/{self.cases[0].case_id}"
        longest_ns: dict[str, int] = {}
        for key, wait_ns in zip(map(self.workload.at_once, self.cases), waits_ns, strict=True):
            longest_ns[key] = max(wait_ns, longest_ns.get(key, 0))
        pause_ns = max(map(self._pause_ns, up))
        slice_ns, pause_ns, *waits_ns = self.agreement.lengths_ns(
            [slice_ns, pause_ns, *longest_ns.values()]
        )
        turns = table(evened(waits_ns), own_ns, slice_ns, seed, pause_ns)
        of_key = dict(zip(longest_ns, turns, strict=True))
        return [of_key[self.workload.at_once(case)] for case in self.cases]

    def _waits_ns(self, case: Case, up: _Up | Run) -> int:
        if isinstance(up, _Up) and up.turn.link.is_elsewhere:
            return self.workload.waits_elsewhere_ns(case)
        return self.workload.waits_ns(case)

    def _warmed_up(self, _rehearsed: Rehearsed, up: _Up, slices: Slices) -> _Side:
        up.turn.begin()
        key = self.workload.at_once(up.turn.case)
        is_paired = sum(self.workload.at_once(case) == key for case in self.cases) > 1
        with up.turn.explaining():
            waiting = self.workload.warmed_up(up.turn, up.address, slices)
        return _Side(up, slices, waiting, is_paired)

    def _looked(self, side: _Side) -> _Side:
        """Look at the far host's clock once more before the start. Raises RunError."""
        if self.workload.is_timed_one_way:
            with side.up.turn.explaining():
                side.up.turn.stage.look_at_clock()
        return side

    def _pause_ns(self, up: _Up | Run) -> int:
        """How long a pause must be for a look at the far host's clock; 0: nobody looks."""
        round_trip_ns = _round_trip_ns(up)
        if not self.workload.is_timed_one_way or round_trip_ns == 0:
            return 0
        return max(_LEAST_PAUSE_NS, _PAUSE_TRIPS * round_trip_ns)

    def _give_up_s(self, start_ns: int, turns: Sequence[Slices]) -> float:
        """The end of the last slice of all, plus the time that a case alone may take."""
        return (start_ns + turns[0].over_ns) / 1e9 + max(map(self.workload.limit_s, self.cases))


def _pausing(at_turn: Mapping[int, _Side]) -> Callable[[int], None]:
    """What is done in pauses: look at the clock of the far host, which all cases share."""
    for each in at_turn.values():
        far_host = each.up.turn.stage.far_host
        if far_host is not None:
            return far_host.clock.look_between
    return lambda _until_ns: None


def evened(waits_ns: Sequence[int]) -> list[int]:
    """The waits, none of them below the longest one, or below a scheduler's tick if that is less.

    Otherwise, after such a tick, messages of cases with short waits would come in the slices of
    cases with long ones, and never the other way round.
    """
    least_ns = min(max(waits_ns), _TICK_NS)
    return [max(each, least_ns) for each in waits_ns]


class Alternation(Struct, frozen=True):
    """Cases of a link whose single samples alternate, in a round.

    Slices would need processes for each case, and be seconds apart where the cases are many.
    """

    workload: Alternates
    cases: Sequence[Case]
    round: int

    def run(self, stack: ExitStack, set_up: Callable[[Case], Stage]) -> list[Run]:
        """Make a run of each case; `set_up` makes the stage of all, which ends with `stack`."""
        began_ns = time.monotonic_ns()
        found = attempt(self.cases[0], self.round, partial(self._alternated, stack, set_up))
        if isinstance(found, Run):  # No single case has failed, but all of them.
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


def _round_trip_ns(up: _Up | Run) -> int:
    """How long a round trip to another machine takes; that of a link of ours is known before."""
    return 0 if isinstance(up, Run) else up.turn.link.round_trip_ns


def _started(start_ns: int, side: _Side) -> _Side:
    # Without waiting: the others are told next, and have little time.
    with side.up.turn.explaining(grace_s=0):
        side.waiting.start(start_ns)
    return side


def _collected(side: _Side, used: Used) -> Run:
    with side.up.turn.explaining():
        run = side.waiting.collect(used).run
    run = replace(run, counters={**run.counters, SLICE_LASTED: side.slices.slice_ns})
    if not side.up.keeps_windows:
        run = replace(run, warnings=(*run.warnings, _WINDOWS_RESTART))
    return run


def _added_to_all(side: _Side, runs: Sequence[Run], start_ns: int) -> list[Run]:
    """The runs with what their link did, once that is counted; failed runs where it cannot be."""
    slices = side.slices
    turns_ns = [
        (start_ns + begin_ns, start_ns + begin_ns + slices.slice_ns + slices.gap_ns)
        for begin_ns in slices.begins_ns
    ]
    try:
        added = side.up.turn.link.added_to_all(runs, turns_ns)
        return [checked(run, time.monotonic_ns() - start_ns) for run in added]
    except RunError as failure:
        return [Run(run.case_id, run.round, {}, {}, failure=str(failure)) for run in runs]


def _keep_windows(link: Link, address: Address | None) -> bool:
    """Have connections over the link keep their congestion window between slices.

    False where that is not permitted, or the server is on another host; on loopback no window is
    too small.
    """
    kept = []
    for network in (link.near, link.far):
        if network.is_private:
            with network.entered():
                kept.append(keep_windows())
    if link.is_elsewhere:
        return False
    if link.is_one_host:
        return address is None or is_own_address(address.host)
    return all(kept)
