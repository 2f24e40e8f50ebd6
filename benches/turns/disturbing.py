"""Other programs' work on both cores: what a neighbour on a shared machine does, on purpose."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SHORTEST_MS, _LONGEST_MS = 1, 50
_SHARE = 0.2
"""The share of the time for which each core is taken away."""


@contextmanager
def disturbed() -> Iterator[None]:
    """Take each core away for 1 to 50 ms, a fifth of the time, and keep stress-ng busy on both.

    Raises SystemExit where stress-ng is not installed. It and the others end with the block, or
    when this process does.
    """
    if shutil.which("stress-ng") is None:
        raise SystemExit("stress-ng is not installed: apt install stress-ng")
    cores = sorted(os.sched_getaffinity(0))
    commands = [[sys.executable, "-m", "turns.disturbing", str(core)] for core in cores]
    commands.append(["stress-ng", "--quiet", "--cpu", str(len(cores))])
    processes = [subprocess.Popen(each, stdin=subprocess.PIPE) for each in commands]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _take_away(core: int) -> None:
    """Compute with real-time priority, in bursts, until whoever started this has ended."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    dice = random.Random(core)
    parent = os.getppid()
    while os.getppid() == parent:
        burst_s = dice.uniform(_SHORTEST_MS, _LONGEST_MS) / 1e3
        until_s = time.monotonic() + burst_s
        while time.monotonic() < until_s:
            pass
        time.sleep(burst_s * (1 / _SHARE - 1))


if __name__ == "__main__":
    _take_away(int(sys.argv[1]))
