"""Slices: the cases of a load are up side by side, and take turns, every cycle in a new order.

What is compared lies milliseconds apart, so that what the host does meets both alike (duet
benchmarking: Bulej et al., 2020; randomized interleaving: Abedi and Brecht, 2017). The turns are a
table that all processes have before the start: no message is passed between slices.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tinygram_bench.host.urgent import urgent
from tinygram_bench.model.value import Value

SLICE_NS = 20_000_000
"""The length of slices that nobody asked for, where a load does not need longer ones."""
SETTLING_SHARE = 0.15
"""The first part of each slice is not measured: caches and the connection are cold."""
DRAINING_SHARE = 0.15
"""In the last part of each slice nothing is handed over flat out: what is on its way arrives."""
LEAST_MESSAGES = 20
"""A slice holds so many at its rate, or a comparison of medians would say little."""
GAP_NS = 1_000_000
"""Between two slices, in which the last messages of the first arrive."""
_BEFORE_NS = GAP_NS // 2
"""CPU clocks are read so long before a slice begins."""
_MOST_LATE = 0.05
"""They are known where they are read at most so late, as a share of a slice."""


class Slices(Value, frozen=True):
    """The turns of one case: when each begins after the start, and how long each is, in ns.

    `gap_ns`: how long after each nobody has a turn.
    """

    begins_ns: tuple[int, ...]
    slice_ns: int
    settling_ns: int
    gap_ns: int = GAP_NS

    @property
    def open_ns(self) -> int:
        """How much of each slice messages are handed over in, flat out."""
        return self.slice_ns - round(self.slice_ns * DRAINING_SHARE)

    @property
    def native(self) -> tuple[tuple[int, ...], int, int]:
        """The table as native code takes it."""
        return self.begins_ns, self.slice_ns, self.settling_ns


def table(waits_ns: Sequence[int], own_ns: int, slice_ns: int, seed: str) -> tuple[Slices, ...]:
    """The turns of as many cases: together those of each take `own_ns`, in whole slices.

    `waits_ns`: how long messages of each may be on their way after its slice, beside what they take
    on this host.
    """
    dice = random.Random(seed)
    begins_ns: list[list[int]] = [[] for _ in waits_ns]
    order = list(range(len(waits_ns)))
    gaps_ns = [GAP_NS + each for each in waits_ns]
    next_ns = 0
    for _ in range(max(1, own_ns // slice_ns)):
        dice.shuffle(order)
        for case in order:
            begins_ns[case].append(next_ns)
            next_ns += slice_ns + gaps_ns[case]
    settling_ns = round(slice_ns * SETTLING_SHARE)
    return tuple(
        Slices(tuple(begins), slice_ns, settling_ns, gap_ns)
        for begins, gap_ns in zip(begins_ns, gaps_ns, strict=True)
    )


@dataclass(frozen=True)
class Used:
    """CPU time of a case's processes, in ns.

    `by_whole_slice`: from when each slice begins until the case's next one does, so that a message
    is paid for that settles, and one that something kept from being handed over in its slice; None
    where a process had ended, or an edge was read too late. `resting`: of all the time between its
    slices; None where that is not known. `other_resting`: the same of its other end.
    """

    by_whole_slice: tuple[int | None, ...]
    resting: int | None
    other_resting: int | None = None


def used_in_slices(
    start_ns: int,
    cases: Sequence[tuple[Slices, Sequence[int], Sequence[int]]],
    give_up_s: float,
    cores: Collection[int] = (),
) -> list[Used]:
    """What each case's processes use; sleeps until the last slice is over, or until `give_up_s`.

    Clocks are read between slices alone: reading takes a core away, which a message that is due
    then would wait for. `cases`: the slices of each, its processes, and those at its other end, as
    far as they are known. `give_up_s` is a time of time.monotonic. `cores`: those that they use.
    """
    clocks = [(_Clocks(), _Clocks()) for _ in cases]
    with urgent(cores):
        for at_ns, ended, beginning in _edges(start_ns, [slices for slices, _, _ in cases]):
            if ended is not None:
                for clock, used_ns in zip(
                    clocks[ended], _used_at(at_ns, *cases[ended]), strict=True
                ):
                    clock.ends.append(used_ns)
            if beginning is not None:
                for clock, used_ns in zip(
                    clocks[beginning], _used_at(at_ns, *cases[beginning]), strict=True
                ):
                    clock.begins.append(used_ns)
            if time.monotonic() > give_up_s:
                break
    return [
        replace(
            own.used(len(slices.begins_ns)),
            other_resting=other.used(len(slices.begins_ns)).resting,
        )
        for (own, other), (slices, _, _) in zip(clocks, cases, strict=True)
    ]


def _edges(
    start_ns: int, of_cases: Sequence[Slices]
) -> Iterator[tuple[int, int | None, int | None]]:
    """A time in each gap, the case whose slice has ended by then, and the one whose slice is next.

    It is late in the gap, when what was sent in the slice has come.
    """
    ended: int | None = None
    turns = sorted(
        (begin_ns, number)
        for number, slices in enumerate(of_cases)
        for begin_ns in slices.begins_ns
    )
    for begin_ns, number in turns:
        yield start_ns + begin_ns - _BEFORE_NS, ended, number
        ended = number
        next_ns = start_ns + begin_ns + of_cases[number].slice_ns + of_cases[number].gap_ns
    if ended is not None:
        yield next_ns - _BEFORE_NS, ended, None


@dataclass(frozen=True)
class _Clocks:
    """CPU clocks of a case at the begins and ends of its slices; None where that is not known."""

    begins: list[int | None] = field(default_factory=list)
    ends: list[int | None] = field(default_factory=list)

    def used(self, slices: int) -> Used:
        """Where there are fewer than `slices`, the rest is not known."""
        missing = [None] * slices
        begins, ends = (*self.begins, *missing)[:slices], (*self.ends, *missing)[:slices]
        rests = [
            begin - end
            for end, begin in zip(ends, begins[1:], strict=False)
            if end is not None and begin is not None
        ]
        is_known = len(rests) > 0 and len(rests) * 2 >= slices - 1
        return Used(
            tuple(
                None if begin is None or until is None else until - begin
                for begin, until in pairwise((*begins, ends[-1]))
            ),
            round(sum(rests) / len(rests) * (slices - 1)) if is_known else None,
        )


def _used_at(at_ns: int, slices: Slices, *ends: Sequence[int]) -> tuple[int | None, ...]:
    """What the processes of each end have used at that time.

    None where they have ended, or nobody knows them, or it is too late.
    """
    left_ns = at_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
    used_ns = tuple(_cpu_ns(pids) for pids in ends)
    is_late = time.monotonic_ns() - at_ns > slices.slice_ns * _MOST_LATE
    return (None,) * len(ends) if is_late else used_ns


def _cpu_ns(pids: Sequence[int]) -> int | None:
    try:
        # CPUCLOCK_SCHED of each process (clock_getcpuclockid(3)).
        return sum(time.clock_gettime_ns((~pid << 3) | 2) for pid in pids) if pids else None
    except OSError:
        return None
