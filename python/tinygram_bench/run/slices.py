"""Slices: the cases of a load are up side by side, and take turns, every cycle in a new order.

What is compared lies milliseconds apart, so that what the host does meets both alike (duet
benchmarking: Bulej et al., 2020; randomized interleaving: Abedi and Brecht, 2017). The turns are a
table that all processes have before the start: no message is passed between slices.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from tinygram_bench.model.value import Value

SETTLING_SHARE = 0.15
"""The first part of each slice is not measured: caches and the connection are cold."""
LEAST_MESSAGES = 20
"""A slice holds so many at its rate, or a comparison of medians would say little."""
_GAP_NS = 1_000_000
"""Between two slices, in which the last messages of the first arrive."""


class Slices(Value, frozen=True):
    """The turns of one case: when each begins after the start, and how long each is, in ns."""

    begins_ns: tuple[int, ...]
    slice_ns: int
    settling_ns: int

    @property
    def native(self) -> tuple[tuple[int, ...], int, int]:
        """What a native pacer takes."""
        return self.begins_ns, self.slice_ns, self.settling_ns


def table(
    cases: int, own_ns: int, slice_ns: int, seed: str, *, waits_ns: int = 0
) -> tuple[Slices, ...]:
    """The turns of each of so many cases: together each takes `own_ns`, in whole slices.

    `waits_ns`: how long a message may be on its way beside what it takes on this host.
    """
    dice = random.Random(seed)
    pitch_ns = slice_ns + _GAP_NS + waits_ns
    begins_ns: list[list[int]] = [[] for _ in range(cases)]
    order = list(range(cases))
    for cycle in range(max(1, own_ns // slice_ns)):
        dice.shuffle(order)
        for position, case in enumerate(order):
            begins_ns[case].append((cycle * cases + position) * pitch_ns)
    settling_ns = round(slice_ns * SETTLING_SHARE)
    return tuple(Slices(tuple(begins), slice_ns, settling_ns) for begins in begins_ns)


def used_by_slice(
    start_ns: int, cases: Sequence[tuple[Slices, Sequence[int]]], give_up_s: float
) -> list[tuple[int | None, ...]]:
    """CPU time in ns that each case's processes used in each of its slices, after it has settled.

    `cases`: each one's turns, and its processes. Sleeps until the last slice is over, or until
    `give_up_s` (time.monotonic). None where a process had ended, or the edge was seen too late.
    """
    found: list[dict[int, int | None]] = [{} for _ in cases]
    edges = sorted(
        (begin_ns, number, slice)
        for number, (slices, _) in enumerate(cases)
        for slice, begin_ns in enumerate(slices.begins_ns)
    )
    for begin_ns, number, slice in edges:
        slices, pids = cases[number]
        begin_ns += start_ns
        before = _used_at(begin_ns + slices.settling_ns, pids, begin_ns + slices.slice_ns)
        end_ns = begin_ns + slices.slice_ns
        after = _used_at(end_ns, pids, end_ns + _GAP_NS)
        found[number][slice] = after - before if before is not None and after is not None else None
        if time.monotonic() > give_up_s:
            break
    return [
        tuple(used.get(slice) for slice in range(len(slices.begins_ns)))
        for used, (slices, _) in zip(found, cases, strict=True)
    ]


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
