"""What a run's time was spent on, as *Why* takes it apart."""

from __future__ import annotations

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.spent import Spent
from tinygram_bench.statistics.workloads import WORKLOADS


def arrival_spent(case: Case, run: Run) -> Spent | None:
    return WORKLOADS[case.workload].arrival_spent(case, run)
