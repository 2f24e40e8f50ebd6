"""Plans and results of `sizes` from a few options, the others as small as they can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.statistics.experiment import histogram, result_of

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Plan, Result, Run
from tinygram_bench.workloads.sizes.cases import SizesOptions, plan_sizes

ROUNDS = 7


def planned(**changes: Any) -> Plan:
    options: dict[str, Any] = {
        "sizes_bytes": [1, 1_000, 1_000_000],
        "round_trips": [0, 1, 2],
        "setup_writes": [2],
        "strategies": ["nodelay"],
        "samples": 100,
        "first_samples": 10,
        "predicted_bytes": [],
        "server": None,
        "has_local": False,
        "congestion_control": "cubic",
        "link": "loopback",
        "placement": "none",
        "timeout_ns": 1_000_000_000,
        "rounds": ROUNDS,
        "seed": 1,
    }
    return plan_sizes(SizesOptions(**(options | changes)))


def measured(plan: Plan, time_us: Callable[[Case, int], float]) -> Result:
    """Each sample of a case took in each round what `time_us` says; a local part, too."""
    runs = [
        _run(case, number, time_us(case, number))
        for number in range(plan.rounds)
        for case in plan.cases
    ]
    return result_of(plan, runs)


def _run(case: Case, number: int, time_us: float) -> Run:
    name = "total_ns" if SizesParameters.of(case).part is None else "part_ns"
    return Run(case.case_id, number, {}, {name: histogram([round(time_us * 1_000)] * 100)})
