"""What the kernel saw of a process's writes: its own tracepoints, in a private tracefs instance."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SYSCALLS = ("sendto", "sendmsg", "write", "writev")
MOUNTED = Path("/sys/kernel/tracing")
BUFFER_KIB = 32768
_ENTER = re.compile(r"-(\d+) +\[\d+\].* (\d+\.\d+): sys_\w+\(fd: (?:0x)?([0-9a-f]+)")
_EXIT = re.compile(r"-(\d+) +\[\d+\].* \d+\.\d+: sys_\w+ -> (0x[0-9a-f]+|-?\d+)")


class TracingError(Exception):
    """This kernel, or this user, has no tracepoints for us; the message says what failed."""


@dataclass(frozen=True)
class Write:
    """One call: when it was entered (CLOCK_MONOTONIC) and what it returned, −errno if negative."""

    at_s: float
    fd: int
    result: int


class Trace:
    """The write calls of one process and of all that it starts."""

    def __init__(self, instance: Path) -> None:
        self._instance = instance

    def follow(self, pid: int) -> None:
        """Trace this process, its threads and children; call it before it starts any."""
        (self._instance / "set_event_pid").write_text(str(pid))

    def writes(self) -> list[Write]:
        """Every call, in order. AssertionError when the kernel had to drop any."""
        for stats in self._instance.glob("per_cpu/cpu*/stats"):
            found = dict(line.split(": ", 1) for line in stats.read_text().splitlines())
            for lost in ("overrun", "commit overrun", "dropped events"):
                assert found[lost] == "0", f"the kernel's buffer was too small: {found}"
        entered: dict[str, tuple[float, int]] = {}
        writes = []
        for line in (self._instance / "trace").read_text().splitlines():
            if line.startswith("#"):
                continue
            if enter := _ENTER.search(line):
                entered[enter[1]] = (float(enter[2]), int(enter[3], 16))
            elif leave := _EXIT.search(line):
                # What was entered before the tracing began has no beginning.
                if leave[1] in entered:
                    writes.append(Write(*entered.pop(leave[1]), _signed(leave[2])))
            else:
                raise AssertionError(f"unknown line in the kernel's trace: {line}")
        return writes


@contextmanager
def kernel_trace() -> Iterator[Trace]:
    """Trace write calls in the block. Raises TracingError."""
    with _tracefs() as tracefs:
        instance = tracefs / "instances" / f"tinygram-test-{os.getpid()}"
        try:
            instance.mkdir()
        except OSError as error:
            raise TracingError(f"no tracefs instance can be made: {error}") from error
        try:
            _set_up(instance)
            yield Trace(instance)
        finally:
            (instance / "tracing_on").write_text("0")
            instance.rmdir()


def _set_up(instance: Path) -> None:
    try:
        (instance / "buffer_size_kb").write_text(str(BUFFER_KIB))
        (instance / "trace_clock").write_text("mono")
        (instance / "options" / "event-fork").write_text("1")
        # Nobody is traced until `follow`: without a pid it would be everybody.
        (instance / "set_event_pid").write_text(str(os.getpid()))
        for name in SYSCALLS:
            for side in ("enter", "exit"):
                (instance / f"events/syscalls/sys_{side}_{name}/enable").write_text("1")
    except OSError as error:
        raise TracingError(f"no tracepoints of write calls: {error}") from error


@contextmanager
def _tracefs() -> Iterator[Path]:
    if (MOUNTED / "instances").is_dir():
        yield MOUNTED
        return
    with tempfile.TemporaryDirectory() as folder:
        mount = subprocess.run(
            ["mount", "-t", "tracefs", "none", folder], capture_output=True, text=True, check=False
        )
        if mount.returncode != 0:
            raise TracingError(f"tracefs cannot be mounted: {mount.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def _signed(text: str) -> int:
    value = int(text, 0)
    return value - (1 << 64) if value >= 1 << 63 else value
