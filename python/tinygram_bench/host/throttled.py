"""Runs that a CPU quota stopped: what their control group counted goes into each run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from tinygram_bench.host.probes.cgroups import throttling
from tinygram_bench.model.result import Case, Run, Warning


def throttling_told(
    run_case: Callable[[Case, int], Run], root: Path = Path("/")
) -> Callable[[Case, int], Run]:
    """`run_case`, whose runs have the counters `throttled_periods` and `throttled_ns`, and a
    warning where these are not 0; no counters where there is no quota.

    All that is in the group counts, also what is not of the run. `root` stands for the file system
    in tests.
    """

    def run_counted(case: Case, round: int) -> Run:
        before = throttling(root)
        run = run_case(case, round)
        after = throttling(root)
        if before is None or after is None:
            return run
        found = after.since(before)
        warnings = run.warnings
        if found.periods:
            message = (
                f"a CPU quota stopped the run's processes in {found.periods} periods, for "
                f"{found.stopped_ns / 1e6:.0f} ms in all: the figures are those of the quota"
            )
            warnings = (*warnings, Warning("cpu_quota", message))
        counted = {"throttled_periods": found.periods, "throttled_ns": found.stopped_ns}
        return msgspec.structs.replace(run, counters=run.counters | counted, warnings=warnings)

    return run_counted
