"""Slices: the cases of a load are up side by side, and take turns, every cycle in a new order.

What is compared lies milliseconds apart, so that what the host does meets both alike (duet
benchmarking: Bulej et al., 2020; randomized interleaving: Abedi and Brecht, 2017). The turns are a
table that all processes have before the start: no message is passed between slices.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack

from msgspec import Struct

from tinygram_bench.host.urgent import urgent
from tinygram_bench.model.value import Value
from tinygram_bench.runs.edges import Clocks, DelayedAcks, Sched, Scheduled

SLICE_NS = 20_000_000
"""The default length of slices, where a load does not need longer ones."""
PACED_SLICE_NS = 10_000_000
"""The same for a stream at a rate, so that what is compared lies nearer. Flat out, shorter slices
gain little, and the gaps between them take longer (decision 0045)."""
SETTLING_SHARE = 0.15
"""The first part of each slice is not measured: caches and the connection are cold."""
DRAINING_SHARE = 0.15
"""In the last part of each slice nothing is handed over flat out: what is on its way arrives."""
MOST_SLICES = 4_000
"""The most slices of a case whose sender or subscribers are on another host: the table is sent in
one line."""
LEAST_MESSAGES = 20
"""The fewest messages in a slice at its rate: with fewer, comparing medians would say little."""
_LEAST_ROWS = 4
"""However many messages are sent at a time, a slice has time for this many one after the other."""
LEAST_BURSTS = 4
"""The fewest bursts in a slice: with fewer, some slices would have none."""
GAP_NS = 1_000_000
"""The time between two slices, in which the last messages of the first arrive."""
_BEFORE_NS = GAP_NS // 2
"""How long before a slice begins CPU clocks are read."""
_PAUSES_EVERY_NS = 500_000_000
"""The time between two pauses, where these are not too few or too many for it."""
_FEWEST_PAUSES, _MOST_PAUSES = 2, 1_000
_MOST_PAUSING = 0.1
"""Pauses make no round longer by more than this share: a short one may have none."""
_LOOKS_EVERY_S = 1.0
"""How often a wait for the edge of a long slice looks whether all is lost."""
_MOST_LATE = 0.05
"""CPU clocks are known where they were read before the slice begins, or late by at most this share
of the slice."""
_MOST_OF_IT = 0.8
"""The share of the time before a slice in which all other counts are read."""


def stream_slice_ns(rate_per_s: float | None, burst: int = 1) -> int:
    """The default length of a stream's slices on loopback, in ns; `rate_per_s` None: flat out."""
    if rate_per_s is None:
        return SLICE_NS
    return max(PACED_SLICE_NS, least_paced_ns(rate_per_s, burst))


def least_paced_ns(rate_per_s: float, burst: int) -> int:
    """The least length of a slice of a stream at a rate, in ns; `burst`: messages in a burst."""
    return math.ceil(least_messages(burst) / rate_per_s * 1e9)


def least_messages(burst: int) -> int:
    """The fewest messages in a slice of a stream; `burst`: messages in a burst."""
    return max(LEAST_MESSAGES, LEAST_BURSTS * burst)


def least_rows(at_a_time: int) -> int:
    """The fewest messages, or calls, one after the other in a slice; `at_a_time`: beside others."""
    return max(LEAST_MESSAGES // at_a_time, _LEAST_ROWS)


def least_held(burst: int) -> str:
    """What `least_messages` says, in words."""
    if least_messages(burst) == LEAST_MESSAGES:
        return f"{LEAST_MESSAGES} messages"
    return f"{LEAST_BURSTS} bursts of {burst} messages"


class Slices(Value, frozen=True):
    """The turns of one case: when each begins after the start, and how long each is, in ns.

    `gap_ns`: how long after each slice nobody has a turn. `over_ns`: when the last slice of all
    cases and its gap are over; until then no process ends, which would take a core from cases that
    have turns.
    """

    begins_ns: tuple[int, ...]
    slice_ns: int
    settling_ns: int
    gap_ns: int = GAP_NS
    over_ns: int = 0

    @property
    def open_ns(self) -> int:
        """The part of each slice in which messages are handed over when flat out, in ns."""
        return self.slice_ns - round(self.slice_ns * DRAINING_SHARE)

    @property
    def own_ns(self) -> int:
        """How long the case's own time is, in ns: it stands still between slices."""
        return len(self.begins_ns) * self.slice_ns

    @property
    def measured_ns(self) -> int:
        """The part of each slice that is measured, in ns."""
        return self.slice_ns - self.settling_ns

    def is_measured(self, after_ns: int) -> bool:
        """Whether what is due then, in ns after the start, is due when its slice has settled."""
        before = bisect_left(self.begins_ns, after_ns)
        return before > 0 and after_ns - self.begins_ns[before - 1] > self.settling_ns

    @property
    def native(self) -> tuple[tuple[int, ...], int, int]:
        """The table as native code takes it."""
        return self.begins_ns, self.slice_ns, self.settling_ns


def table(
    waits_ns: Sequence[int], own_ns: int, slice_ns: int, seed: str, pause_ns: int = 0
) -> tuple[Slices, ...]:
    """The turns of as many cases: those of each case take `own_ns` together, in whole slices.

    `waits_ns`: for each case, how long its messages may be on their way after its slice, beside the
    time that they take on this host. `pause_ns`: after some slices, twice a second if there is
    enough time, nobody has a turn for so much longer.
    """
    # Processes that take turns import this module, too; only the bench draws a table.
    import random

    dice = random.Random(seed)
    begins_ns: list[list[int]] = [[] for _ in waits_ns]
    order = list(range(len(waits_ns)))
    gaps_ns = [GAP_NS + each for each in waits_ns]
    next_ns = paused_ns = 0
    cycles = max(1, own_ns // slice_ns)
    every_ns = _pauses_every_ns(cycles * sum(slice_ns + gap_ns for gap_ns in gaps_ns), pause_ns)
    for _ in range(cycles):
        dice.shuffle(order)
        for case in order:
            if pause_ns and next_ns - paused_ns >= every_ns:
                next_ns += pause_ns
                paused_ns = next_ns
            begins_ns[case].append(next_ns)
            next_ns += slice_ns + gaps_ns[case]
    settling_ns = round(slice_ns * SETTLING_SHARE)
    return tuple(
        Slices(tuple(begins), slice_ns, settling_ns, gap_ns, over_ns=next_ns)
        for begins, gap_ns in zip(begins_ns, gaps_ns, strict=True)
    )


def _pauses_every_ns(round_ns: int, pause_ns: int) -> float:
    """The time between two pauses of a round that takes so long without them."""
    often_ns = min(_PAUSES_EVERY_NS, round_ns / (_FEWEST_PAUSES + 1))
    return max(often_ns, round_ns / _MOST_PAUSES, pause_ns / _MOST_PAUSING)


class Ends(Struct, frozen=True):
    """A case that takes turns: its slices, its processes, and where known those at its other end.

    `counts_acks`: the kernel's count of delayed acknowledgements comes from these processes alone.
    """

    slices: Slices
    pids: Sequence[int]
    other_pids: Sequence[int] = ()
    counts_acks: bool = False


class Used(Struct, frozen=True):
    """What a case's processes used; times in ns.

    `by_whole_slice`: CPU time from when each slice begins until the case's next one does, so that
    it includes messages of the settling part, and those that something delayed beyond their slice;
    None where a process had ended, or an edge was read too late. `resting`: CPU time in all the
    time between its slices; None where that is not known. `other_resting`: the same for its other
    end. `in_slices`: how often its threads were put on a core in all its slices, and how long they
    had waited for one; `other_in_slices`: the same for its other end; `delayed_acks`: of both ends.
    A slice with an edge that was read too late counts as the mean of the others; None where more
    than half are not known.
    """

    by_whole_slice: tuple[int | None, ...]
    resting: int | None
    other_resting: int | None = None
    in_slices: Scheduled | None = None
    other_in_slices: Scheduled | None = None
    delayed_acks: int | None = None


def used_in_slices(
    start_ns: int,
    cases: Sequence[Ends],
    give_up_s: float,
    cores: Collection[int] = (),
    between: Callable[[int], None] = lambda _ended: None,
    is_lost: Callable[[], bool] = lambda: False,
    pausing: Callable[[int], None] = lambda _until_ns: None,
) -> list[Used]:
    """What each case's processes use; this sleeps until the last slice is over, or `give_up_s`.

    Clocks are read between slices alone: reading takes a core away, which a message that is due
    then would wait for. `give_up_s` is a time of time.monotonic. `cores`: those that the processes
    use. `between` is called after each slice, when the clocks are read, with the number of its
    case. `is_lost` is asked at each edge and each second before it; where it holds, the remaining
    slices are not waited for. `pausing` is called in each pause, when the clocks of what has ended
    are read, with the time at which those of what begins are: it must be over by then.
    """

    def sleep_until(at_ns: int) -> None:
        while (left_ns := at_ns - time.monotonic_ns()) > 0 and not is_lost():
            time.sleep(min(left_ns / 1e9, _LOOKS_EVERY_S))

    with ExitStack() as stack, urgent(cores):
        found = [_Watch.on(case, stack) for case in cases]
        for free_ns, at_ns, ended, beginning in _edges(start_ns, [case.slices for case in cases]):
            ends = [(found[number], True) for number in ended]
            begins = [(found[number], False) for number in beginning]
            if free_ns < at_ns:
                sleep_until(free_ns)
                # What is done in the pause, and comes in it, is no part of the slice before.
                _read(ends, free_ns)
                ends = []
                pausing(at_ns)
            sleep_until(at_ns)
            if is_lost():
                break
            _read([*ends, *begins], at_ns)
            for number in ended:
                between(number)
            if time.monotonic() > give_up_s:
                break
    return [each.used() for each in found]


class _Watch(Struct, frozen=True):
    """What is read of a case: of its own processes, and of those at its other end."""

    slices: Slices
    clocks: tuple[Clocks, Clocks]
    sched: tuple[Sched, Sched]
    acks: DelayedAcks

    @classmethod
    def on(cls, case: Ends, stack: ExitStack) -> _Watch:
        both = case.pids, case.other_pids
        return cls(
            case.slices,
            (Clocks(case.pids), Clocks(case.other_pids)),
            (Sched(case.pids, stack), Sched(case.other_pids, stack)),
            DelayedAcks.of(both, stack) if case.counts_acks and all(both) else DelayedAcks(()),
        )

    def read_clocks(self, at_ns: int, *, is_end: bool) -> None:
        read = [each.read() for each in self.clocks]
        most_late_ns = max(_BEFORE_NS, self.slices.slice_ns * _MOST_LATE)
        is_late = time.monotonic_ns() - at_ns > most_late_ns
        for clocks, used_ns in zip(self.clocks, read, strict=True):
            (clocks.ends if is_end else clocks.begins).append(None if is_late else used_ns)

    def read_counts(self, at_ns: int, *, is_end: bool) -> None:
        """The next slice must not be disturbed: what there is no time for is not known."""
        latest_ns = at_ns + _BEFORE_NS * _MOST_OF_IT
        tables = self.acks.read() if time.monotonic_ns() <= latest_ns else None
        (self.acks.ends if is_end else self.acks.begins).append(tables)
        for each in self.sched:
            threads = each.read() if time.monotonic_ns() <= latest_ns else None
            (each.ends if is_end else each.begins).append(threads)

    def used(self) -> Used:
        slices = len(self.slices.begins_ns)
        own, other = self.clocks
        own_sched, other_sched = (each.scheduled(slices) for each in self.sched)
        return Used(
            own.by_whole_slice(slices),
            own.resting(slices),
            other.resting(slices),
            own_sched,
            other_sched,
            self.acks.counted(slices),
        )


def _read(sides: Sequence[tuple[_Watch, bool]], at_ns: int) -> None:
    """Read what is known of cases, with whether the slice of each has ended: these come first."""
    # Clocks come before what takes longer.
    for watch, is_end in sides:
        watch.read_clocks(at_ns, is_end=is_end)
    for watch, is_end in sides:
        watch.read_counts(at_ns, is_end=is_end)


def _edges(
    start_ns: int, of_cases: Sequence[Slices]
) -> Iterator[tuple[int, int, Sequence[int], Sequence[int]]]:
    """A time in each gap, the cases whose slice has ended by then, and those whose slice is next.

    There are several where cases run at the same time. The time is late in the gap, when what was
    sent in the slice has arrived. Before it comes the time from which on there is a pause, or the
    same again where there is none.
    """
    turns: dict[int, list[int]] = {}
    for number, slices in enumerate(of_cases):
        for begin_ns in slices.begins_ns:
            turns.setdefault(begin_ns, []).append(number)
    ended: Sequence[int] = ()
    free_ns = start_ns - _BEFORE_NS
    for begin_ns, numbers in sorted(turns.items()):
        yield free_ns, start_ns + begin_ns - _BEFORE_NS, ended, numbers
        ended = numbers
        last = of_cases[numbers[0]]
        free_ns = start_ns + begin_ns + last.slice_ns + last.gap_ns - _BEFORE_NS
    if ended:
        yield free_ns, free_ns, ended, ()
