"""Runs and results of `rr`, made of the calls that they are to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.support.experiments import histogram, result_of

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Plan, Result, Run
from tinygram_bench.workloads.rr.order import Report, Span, Start
from tinygram_bench.workloads.rr.outcome import Found, assembled
from tinygram_bench.workloads.rr.withheld import REQUESTS

KERNEL = {
    "kernel_ListenOverflows": 0,
    "kernel_TCPSynRetrans": 0,
    "kernel_DelayedACKs": 9,
    "kernel_OutRsts": 0,
}
START = Start((Span(start_ns=1_000_000_000, end_ns=2_000_000_000),))


def report(calls: int, call_ns: int, callers: int, connect_ns: int = 0) -> Report:
    """A run of callers who did nothing but call, one after the other."""
    busy_ns = calls * (call_ns + connect_ns)
    counters = {
        "calls": calls,
        "call_time_ns": calls * call_ns,
        "connect_time_ns": calls * connect_ns,
        "callers_time_ns": busy_ns,
        "calls_not_begun": 0,
        "behind_ns": 0,
        "last_ns": START.start_ns + busy_ns // callers,
        "cpu_ns": calls * 10_000,
    }
    connects = [connect_ns] * calls if connect_ns else [20_000]
    histograms = {
        "call_ns": histogram([call_ns] * calls),
        "connect_ns": histogram(connects),
        "start_delay_ns": histogram([1_000] * calls),
    }
    return Report(counters, histograms)


def found(
    case: Case,
    reports: Sequence[Report],
    server: Mapping[str, int] | None = None,
    kernel: Mapping[str, int | None] | None = None,
) -> Found:
    """What a right server counts, but for what `server` changes."""
    warm_up = case.producers * RrParameters.of(case).warm_up_calls
    calls = sum(report.counters["calls"] for report in reports) + warm_up + REQUESTS
    counted = {"server_requests": calls, "server_wrong_requests": 0} | dict(server or {})
    others: dict[str, int | None] = {**KERNEL, **(kernel or {}), "server_cpu_ns": 5_000 * calls}
    return Found(START, reports, counted, others)


def run_of(case: Case, round: int, found: Found) -> Run:
    return assembled(case, round, found, has_private_network=True)


def measured(plan: Plan) -> Result:
    """Calls of 8 ms, and with `nagle` of 40 ms, a little longer in each round."""
    runs = []
    for number in range(plan.rounds):
        for case in plan.cases:
            call_ns = 40_000_000 + 100_000 * number if case.strategy == "nagle" else 8_000_000
            runs.append(run_of(case, number, found(case, [report(2_000, call_ns, callers=8)])))
    return result_of(plan, runs)
