"""A run whose receiver is stopped for a while: everybody knows what its p99 has to be."""

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
"""From the first sight of the receiver to its stop: by then the run has begun; it goes on after."""
_LOOK_S = 0.005
_NOT_STOPPED = (
    "its receiver was not found to be stopped: the kernel must list a process's children in /proc "
    "(CONFIG_PROC_CHILDREN)"
)


def frozen(run_case: Callable[[Case, int], Run], case: Case, round: int) -> Run:
    """Run the case, and stop its receiver for a while; `frozen_ns` says how long it was."""
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
    """Stop the receiver of ours for a while; for how long, in ns; nothing where there is none."""
    while not has_ended.wait(_LOOK_S):
        for pid in _receivers():
            if has_ended.wait(_AFTER_S):
                break
            with suppress(ProcessLookupError):
                return [_stop(pid)]
    return []


def _stop(pid: int) -> int:
    """Raises ProcessLookupError where the process has ended."""
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
