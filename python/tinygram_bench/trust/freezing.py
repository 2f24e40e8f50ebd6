"""A run whose receiver is stopped for a while, so that its p99 is known beforehand."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from tinygram_bench.model.result import Case, Run
from tinygram_bench.trust.plan import FROZEN_NS

_RECEIVER = "tg-receiver"
_AFTER_S = 1.5
"""The time from finding the receiver to its stop: by then the run has begun, and has not ended."""
_LOOK_S = 0.005
_NOT_STOPPED = (
    "its receiver was not found to be stopped: the kernel must list a process's children in /proc "
    "(CONFIG_PROC_CHILDREN)"
)


def frozen(run_case: Callable[[Case, int], Run], case: Case, round: int) -> Run:
    """Run the case, and stop its receiver for a while; the counter `frozen_ns` tells how long."""
    found: list[int] = []
    has_ended = threading.Event()
    thread = threading.Thread(target=lambda: found.extend(_freeze(has_ended)), daemon=True)
    thread.start()
    try:
        run = run_case(case, round)
    finally:
        has_ended.set()
        thread.join()
    if run.failure is not None:
        return run
    if not found:
        return Run(case.case_id, round, {}, {}, failure=_NOT_STOPPED)
    return replace(run, counters=run.counters | {"frozen_ns": found[0]})


def _freeze(has_ended: threading.Event) -> list[int]:
    """Stop our receiver for a while; return for how long, in ns, or nothing where there is none."""
    while not has_ended.wait(_LOOK_S):
        for pid in _receivers():
            if has_ended.wait(_AFTER_S):
                break
            with suppress(ProcessLookupError):
                return [_stop(pid)]
    return []


def _stop(pid: int) -> int:
    """Stop a process for a while; return for how long, in ns. Raises ProcessLookupError."""
    begun_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(FROZEN_NS / 1e9)
    finally:
        os.kill(pid, signal.SIGCONT)
    return time.monotonic_ns() - begun_ns


def _receivers() -> list[int]:
    """The receivers among our children."""
    found: list[int] = []
    try:
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    except OSError:  # A kernel without CONFIG_PROC_CHILDREN, or no /proc of our own.
        return found
    for pid in children:
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == _RECEIVER:
                found.append(int(pid))
    return found
