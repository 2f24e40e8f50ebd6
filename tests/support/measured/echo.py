"""Results of `echo`, made of the rates that they are to show."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from tests.support.experiments import histogram, result_of, warned

from tinygram_bench.model.result import Case, Plan, Result, Run, Warning
from tinygram_bench.statistics.workloads.loads import way_of

ROUNDS = 7


def run_of(case: Case, number: int, rate_per_s: float) -> Run:
    """`rate_per_s` messages in a second, each with a round trip of 5 workers' share of it."""
    messages = round(rate_per_s)
    counters: dict[str, int | None] = {
        "messages": messages,
        "bytes": messages * 1_000,
        "exchanged_bytes": 2 * messages * 1_000,
        "run_time_ns": 1_000_000_000,
        "round_trips_ns": 4_900_000_000,
        "client_cpu_ns": 400_000_000,
        "cpu_ns": 900_000_000,
        "writes": messages,
    }
    trips = histogram([round(5e9 / rate_per_s)] * 2_000)
    return Run(case.case_id, number, counters, {"round_trip_ns": trips})


def measured(plan: Plan, rates: Mapping[str, float]) -> Result:
    """way → messages/s, a little more in each round."""
    runs = [
        run_of(case, number, rates[way_of(case)] * (1 + number / 1_000))
        for case in plan.cases
        for number in range(ROUNDS)
    ]
    runs = [
        warned(run, Warning("faulty_server", "not an echo", ("throughput",)))
        if "whole-buffer" in run.case_id
        else run
        for run in runs
    ]
    return result_of(msgspec.structs.replace(plan, rounds=ROUNDS), runs)
