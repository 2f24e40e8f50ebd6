"""Results of `sizes`, made of the times that they are to show."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.experiments import histogram, result_of

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Plan, Result, Run


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
