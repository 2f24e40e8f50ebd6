"""Tells of runs that a CPU quota stopped, by counters of their control group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tinygram_bench.host.probes.cgroups import Throttling, throttling
from tinygram_bench.model.result import Case, Run, RunCases, Warning


def throttling_told(run_cases: RunCases, root: Path = Path("/")) -> RunCases:
    """`run_cases`, with runs that tell of a CPU quota.

    They have the counters `throttled_periods` and `throttled_ns`, and a warning where these are not
    0; no counters where there is no quota.

    Everything in the control group counts, even if it does not belong to the run: cases that took
    turns each have the counts of the time in which all of them ran. `root` stands for the file
    system in tests.
    """

    def run_counted(cases: Sequence[Case], round: int) -> Sequence[Run]:
        before = throttling(root)
        runs = run_cases(cases, round)
        after = throttling(root)
        if before is None or after is None:
            return runs
        found = after.since(before)
        whose = "the run's processes" if len(runs) == 1 else f"{len(runs)} cases that took turns"
        return [_told(run, found, whose) for run in runs]

    return run_counted


def _told(run: Run, found: Throttling, whose: str) -> Run:
    warnings = run.warnings
    if found.periods:
        message = (
            f"a CPU quota stopped {whose} in {found.periods} periods, for "
            f"{found.stopped_ns / 1e6:.0f} ms in all: the figures are those of the quota"
        )
        warnings = (*warnings, Warning("cpu_quota", message))
    counted = {"throttled_periods": found.periods, "throttled_ns": found.stopped_ns}
    return msgspec.structs.replace(run, counters=run.counters | counted, warnings=warnings)
