"""Tells whether another measurement uses the same cores, by locks that end with their process.

All measurements on this machine, of any user, open one file; core n is its byte n. Each has read
locks on the bytes of its cores (fcntl(2), open file description locks): these block nobody, end
with a killed process, and show when others ask. Where the file cannot be opened, or its file system
has no locks, nothing is known, and nothing is said.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tinygram_bench.host.placement import Placement
from tinygram_bench.model.result import EVERY_FIGURE, Case, Run, RunCases, Warning

VARIABLE = "TINYGRAM_CORES_LOCK"
LOCK_FILE = "/tmp/tinygram-cores.lock"
"""The path is the same for all users, whatever their TMPDIR; tests set another by VARIABLE."""
_FLOCK = "@hhqqi0q"
_STEP_S = 0.2


class Cores(Struct, frozen=True):
    """The cores of a measurement.

    `fd` is the open lock file; None: nothing is known of other measurements.
    """

    numbers: tuple[int, ...]
    fd: int | None

    def others(self) -> tuple[int, ...]:
        """Those of these cores that another measurement uses now."""
        if self.fd is None:
            return ()
        return tuple(number for number in self.numbers if _is_taken(self.fd, number))

    def told(self, run_cases: RunCases) -> RunCases:
        """`run_cases`, with a warning on runs beside which another measurement began or ended."""

        def run_told(cases: Sequence[Case], round: int) -> Sequence[Run]:
            before = self.others()
            runs = run_cases(cases, round)
            found = sorted({*before, *self.others()})
            if not found:
                return runs
            message = f"another measurement used {_named(found)} too"
            warning = Warning("other_measurement", message, EVERY_FIGURE)
            replace = msgspec.structs.replace
            return [replace(run, warnings=(*run.warnings, warning)) for run in runs]

        return run_told


def cores_of(where: Placement) -> tuple[int, ...]:
    """The numbers of a placement's cores; where the kernel chooses, all allowed cores."""
    pinned = {cpu for cpu in (where.sender_cpu, where.receiver_cpu) if cpu is not None}
    return tuple(sorted(pinned or os.sched_getaffinity(0)))


@contextmanager
def occupied(
    numbers: Iterable[int], tell: Callable[[str], None], *, waits: bool
) -> Iterator[Cores]:
    """Mark these cores as in use until the block's end.

    `tell` gets a message about another measurement on them; with `waits` the block begins when that
    one has ended, one waiting measurement after the other.
    """
    cores = Cores(tuple(numbers), _opened(Path(os.environ.get(VARIABLE, LOCK_FILE))))
    if cores.fd is None:
        yield cores
        return
    try:
        others = cores.others()
        if others and waits:
            tell(f"waiting for another measurement, which uses {_named(others)}")
            _wait(cores)
        elif others:
            tell(
                f"another measurement uses {_named(others)}: neither's figures can be trusted; "
                "--wait waits for its end"
            )
        for number in cores.numbers:
            _ask(cores.fd, fcntl.F_OFD_SETLK, fcntl.F_RDLCK, number)
        if waits:
            fcntl.flock(cores.fd, fcntl.LOCK_UN)
        yield cores
    finally:
        os.close(cores.fd)


def _wait(cores: Cores) -> None:
    """Wait until no other measurement uses the cores; those that wait begin one at a time."""
    assert cores.fd is not None
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(cores.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        time.sleep(_STEP_S)
    while cores.others():
        time.sleep(_STEP_S)


def _opened(path: Path) -> int | None:
    """A descriptor for reading the file, which is made if missing; None where that fails."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    for more in (0, os.O_CREAT | os.O_EXCL, 0):
        try:
            fd = os.open(path, flags | more, 0o644)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EEXIST):
                continue  # Another process has made or removed it meanwhile.
            return None
        if more:
            os.fchmod(fd, 0o644)  # Others must be able to read it, whatever our umask.
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        return None
    return None


def _is_taken(fd: int, number: int) -> bool:
    """Whether another lock would keep us from a write lock on this byte."""
    return _ask(fd, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, number) != fcntl.F_UNLCK


def _ask(fd: int, command: int, kind: int, number: int) -> int:
    """The kind of lock that the kernel answers with; F_UNLCK where the file system has none."""
    lock = struct.pack(_FLOCK, kind, os.SEEK_SET, number, 1, 0)
    try:
        answer = fcntl.fcntl(fd, command, lock)
    except OSError:
        return fcntl.F_UNLCK
    found: int = struct.unpack(_FLOCK, answer)[0]
    return found


def _named(numbers: Iterable[int]) -> str:
    cores = [str(number) for number in numbers]
    return f"core {cores[0]}" if len(cores) == 1 else f"cores {', '.join(cores)}"
