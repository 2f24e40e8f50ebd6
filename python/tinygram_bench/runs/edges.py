"""What is read of a case's processes at the edges of its slices, and what that says of the slices.

Each reading takes a few µs, because the next case is about to begin. CPU clocks come first; what
the scheduler and TCP have counted follows where there is time left for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import TypeVar

from msgspec import Struct, field

from tinygram_bench.processes.cpu_clock import cpu_ns

_MOST_THREADS = 32
"""With more threads, the scheduler's counts are not read: that would take too long."""
_READ_BYTES = 1 << 16
_NETSTAT = "net/netstat"

T = TypeVar("T")

Threads = dict[str, tuple[int, int]] | None
"""Thread → how often it was put on a core, and the ns that it waited for one; None: not known."""


class Scheduled(Struct, frozen=True):
    """What the scheduler did: `switches` to threads, which waited `waited_ns` for a core when they
    could have run.
    """

    switches: int
    waited_ns: int


class Clocks(Struct, frozen=True):
    """CPU clocks of processes at the begins and ends of slices; None where that is not known."""

    pids: Sequence[int]
    begins: list[int | None] = field(default_factory=list)
    ends: list[int | None] = field(default_factory=list)

    def read(self) -> int | None:
        """The processes' CPU time so far, in ns; None where one has ended, or there is none."""
        try:
            used = [cpu_ns(pid) for pid in self.pids]
        except OSError:
            return None
        return sum(used) if used else None

    def by_whole_slice(self, slices: int) -> tuple[int | None, ...]:
        """CPU time from the start of each slice to that of the next one, in ns; None: not known.

        That of the last slice never is: no slice of the case begins after it.
        """
        return tuple(
            None if begin is None or until is None else until - begin
            for begin, until in pairwise((*padded(self.begins, slices), None))
        )

    def resting(self, slices: int) -> int | None:
        """The CPU time between all slices, in ns; None where too little of it is known."""
        begins, ends = padded(self.begins, slices), padded(self.ends, slices)
        rests = [
            None if end is None or begin is None else begin - end
            for end, begin in zip(ends, begins[1:], strict=False)
        ]
        return summed(rests)


class Sched(Struct):
    """The scheduler's counts of each thread at the begins and ends of slices.

    `has_too_many`: the processes were once found to have too many threads to read all counts.
    """

    pids: Sequence[int]
    stack: ExitStack
    begins: list[Threads] = field(default_factory=list)
    ends: list[Threads] = field(default_factory=list)
    fds: dict[str, int] = field(default_factory=dict)
    has_too_many: bool = False

    def read(self) -> Threads:
        """The counts so far (schedstat of each thread: time on a core, waited for one, turns)."""
        found: dict[str, tuple[int, int]] = {}
        if self.has_too_many:
            return None
        try:
            for pid in self.pids:
                threads = os.listdir(f"/proc/{pid}/task")
                self.has_too_many = len(found) + len(threads) > _MOST_THREADS
                if self.has_too_many:
                    return None
                for thread in threads:
                    fd = self._fd(f"/proc/{pid}/task/{thread}/schedstat")
                    _, waited_ns, turns = os.pread(fd, 80, 0).split()
                    found[thread] = int(turns), int(waited_ns)
        except (OSError, ValueError):
            return None
        # A kernel that does not count says 0 of threads that have run.
        return found if found and all(turns for turns, _ in found.values()) else None

    def scheduled(self, slices: int) -> Scheduled | None:
        """Summed over all slices; None where too little is known, or threads ended in too many."""
        pairs = zip(padded(self.begins, slices), padded(self.ends, slices), strict=True)
        grown = [_grown(before, after) for before, after in pairs]
        switches = summed([None if each is None else each.switches for each in grown])
        waited_ns = summed([None if each is None else each.waited_ns for each in grown])
        return None if switches is None or waited_ns is None else Scheduled(switches, waited_ns)

    def _fd(self, path: str) -> int:
        if path not in self.fds:
            self.fds[path] = fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.stack.callback(os.close, fd)
        return self.fds[path]


class DelayedAcks(Struct, frozen=True):
    """TCP's counts of delayed acknowledgements in the networks of two ends, at the same times."""

    fds: Sequence[int]
    begins: list[bytes | None] = field(default_factory=list)
    ends: list[bytes | None] = field(default_factory=list)

    @staticmethod
    def of(pids: Sequence[Sequence[int]], stack: ExitStack) -> DelayedAcks:
        """The counts of the processes' networks; no networks where these are not known."""
        fds: dict[int, int] = {}
        try:
            for pid, *_ in pids:
                network = os.stat(f"/proc/{pid}/ns/net").st_ino
                if network not in fds:
                    fds[network] = os.open(f"/proc/{pid}/{_NETSTAT}", os.O_RDONLY | os.O_CLOEXEC)
                    stack.callback(os.close, fds[network])
        except (OSError, ValueError):
            return DelayedAcks(())
        return DelayedAcks(tuple(fds.values()))

    def read(self) -> bytes | None:
        """The kernel's tables unparsed: they are looked into when all slices are over."""
        try:
            return b"".join(os.pread(fd, _READ_BYTES, 0) for fd in self.fds) or None
        except OSError:
            return None

    def counted(self, slices: int) -> int | None:
        """How many were sent in all slices, and not in the rests after them."""
        pairs = zip(padded(self.begins, slices), padded(self.ends, slices), strict=True)
        return summed(
            [
                None if before is None or after is None else _delayed(after) - _delayed(before)
                for before, after in pairs
            ]
        )


def padded(found: Sequence[T | None], length: int) -> tuple[T | None, ...]:
    """One value for each of `length` slices; None for slices that were not reached."""
    return (*found, *[None] * length)[:length]


def summed(values: Sequence[int | None]) -> int | None:
    """The sum, with the mean for unknown values; None where more than half are unknown."""
    known = [each for each in values if each is not None]
    if not known or len(known) * 2 < len(values):
        return None
    return round(sum(known) / len(known) * len(values))


def _grown(before: Threads, after: Threads) -> Scheduled | None:
    if before is None or after is None or not before.keys() <= after.keys():
        return None
    earlier = [before.get(thread, (0, 0)) for thread in after]
    return Scheduled(
        sum(turns for turns, _ in after.values()) - sum(turns for turns, _ in earlier),
        sum(waited for _, waited in after.values()) - sum(waited for _, waited in earlier),
    )


def _delayed(tables: bytes) -> int:
    """How many there are in all tables: a line of names, then one of numbers (proc_pid_net(5))."""
    lines = [line.split() for line in tables.splitlines() if line.startswith(b"TcpExt:")]
    return sum(
        int(number)
        for names, numbers in zip(lines[::2], lines[1::2], strict=True)
        for name, number in zip(names, numbers, strict=True)
        if name == b"DelayedACKs"
    )
