"""Cases of `stream` for these scripts, and their rounds, each with fresh processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from pairs import SEED, measured

from tinygram_bench import Plan
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.links.spec import LOOPBACK
from tinygram_bench.model.result import Case, MessageBytes, Run
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.slices import SLICE_NS
from tinygram_bench.runs.workload import Workload

ROUNDS = 6
BYTES = 100
CONGESTION_CONTROL = "cubic"
_MOST_NS = 120 * 10**9
"""How long a run may take: where other programs have most of both cores, it starts slowly."""


def stream_cases(
    only: Sequence[str],
    rate_per_s: float | None,
    *,
    link: str = "loopback",
    seconds: float = 1,
    slice_ns: int = SLICE_NS,
) -> list[Case]:
    """Cases that take turns; each has `seconds` in a round. Without a rate they are flat out."""
    plan = Plan.stream(
        only=list(only),
        rate=None if rate_per_s is None else [rate_per_s],
        size=MessageBytes(BYTES, BYTES),
        duration=round(seconds * 1e9),
        slice=slice_ns,
        timeout=_MOST_NS,
        link=[link],
        congestion_control=CONGESTION_CONTROL,
        seed=SEED,
    )
    return list(plan.cases)


def rounds(
    workload: Workload,
    cases: Sequence[Case],
    number: int = ROUNDS,
    *,
    is_awake: bool = False,
    may_fail: bool = False,
) -> Iterator[list[Run]]:
    """The runs of each round; `is_awake`: on cores that do not sleep.

    Over links they never do, as when `tinygram` measures. Exits where a run failed; `may_fail`:
    says so on standard error instead.
    """
    keeps_awake = is_awake or any(case.link != LOOPBACK for case in cases)
    with cores_awake() if keeps_awake else nullcontext(), running(workload) as bench:
        for each in range(number):
            runs = bench.run_cases(cases, each)
            for run in runs:
                if may_fail and run.failure is not None:
                    print(f"{run.case_id}, round {each + 1}: {run.failure}", file=sys.stderr)
                else:
                    measured(run)
            yield runs
