"""The CPU clock of a process."""

from __future__ import annotations

import time


def cpu_ns(pid: int) -> int:
    """The CPU time that the process has used so far, in ns. Raises OSError where it is gone."""
    # CPUCLOCK_SCHED of its pid (clock_getcpuclockid(3)).
    return time.clock_gettime_ns((~pid << 3) | 2)
