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
_GIVE_UP_S = 60.0


def frozen(run_case: Callable[[Case, int], Run], case: Case, round: int) -> Run:
    """Run the case, and stop its receiver for a while; `frozen_ns` says how long it was."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(_freeze()), daemon=True)
    thread.start()
    run = run_case(case, round)
    thread.join()
    if run.failure is not None or not found[0]:
        return run
    return replace(run, counters=run.counters | {"frozen_ns": found[0]})


def _freeze() -> int:
    """Stop the receiver of ours for a while; for how long, in ns, 0 where there was none."""
    give_up_s = time.monotonic() + _GIVE_UP_S
    while time.monotonic() < give_up_s:
        for pid in _receivers():
            time.sleep(_AFTER_S)
            with suppress(ProcessLookupError):
                return _stop(pid)
        time.sleep(_LOOK_S)
    return 0


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
    found = []
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    for pid in children:
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == _RECEIVER:
                found.append(int(pid))
    return found
