"""Slices: the cases of a load are up side by side, and take turns, every cycle in a new order.

What is compared lies milliseconds apart, so that what the host does meets both alike (duet
benchmarking: Bulej et al., 2020; randomized interleaving: Abedi and Brecht, 2017). The turns are a
table that all processes have before the start: no message is passed between slices.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

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

    `by_slice`: from when each slice has settled until the case's next one begins, so that a message
    is paid for that something kept from being handed over in its slice; None where a process had
    ended, or an edge was seen too late. `resting`: of all the time between its slices; None where
    that is not known.
    """

    by_slice: tuple[int | None, ...]
    resting: int | None


def used_in_slices(
    start_ns: int, cases: Sequence[tuple[Slices, Sequence[int]]], give_up_s: float
) -> list[Used]:
    """What each case's processes use; sleeps until the last slice is over, or until `give_up_s`.

    `cases`: the slices of each, and its processes. `give_up_s` is a time of time.monotonic.
    """
    readings: list[list[_Reading]] = [[] for _ in cases]
    with urgent():
        _read(readings, start_ns, cases, give_up_s)
    return [
        _used(found, len(slices.begins_ns))
        for found, (slices, _) in zip(readings, cases, strict=True)
    ]


def _read(
    readings: Sequence[list[_Reading]],
    start_ns: int,
    cases: Sequence[tuple[Slices, Sequence[int]]],
    give_up_s: float,
) -> None:
    turns = sorted(
        (begin_ns, number)
        for number, (slices, _) in enumerate(cases)
        for begin_ns in slices.begins_ns
    )
    for begin_ns, number in turns:
        slices, pids = cases[number]
        begin_ns += start_ns
        end_ns = begin_ns + slices.slice_ns
        settled_ns = begin_ns + slices.settling_ns
        readings[number].append(
            _Reading(
                _used_at(begin_ns, pids, settled_ns),
                _used_at(settled_ns, pids, end_ns),
                _used_at(end_ns, pids, end_ns + slices.gap_ns),
            )
        )
        if time.monotonic() > give_up_s:
            break


class _Reading(NamedTuple):
    """CPU clocks when a slice begins, when it has settled, and when it ends."""

    begin: int | None
    settled: int | None
    end: int | None


def _used(readings: Sequence[_Reading], slices: int) -> Used:
    ends = [*(each.begin for each in readings[1:]), *(each.end for each in readings[-1:])]
    by_slice = [
        None if each.settled is None or end is None else end - each.settled
        for each, end in zip(readings, ends, strict=True)
    ]
    by_slice += [None] * (slices - len(by_slice))
    rests = [
        after.begin - before.end
        for before, after in pairwise(readings)
        if before.end is not None and after.begin is not None
    ]
    is_known = len(rests) > 0 and len(rests) * 2 >= slices - 1
    return Used(
        tuple(by_slice), round(sum(rests) / len(rests) * (slices - 1)) if is_known else None
    )


def _used_at(at_ns: int, pids: Sequence[int], latest_ns: int) -> int | None:
    """What the processes have used at that time; None where they have ended, or it is too late."""
    left_ns = at_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
    try:
        # CPUCLOCK_SCHED of each process (clock_getcpuclockid(3)).
        used_ns = sum(time.clock_gettime_ns((~pid << 3) | 2) for pid in pids)
    except OSError:
        return None
    return used_ns if time.monotonic_ns() < latest_ns else None
