"""Builds small experiments out of the figures that they are to show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from hypothesis import settings

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import (
    SCHEMA_VERSION,
    Case,
    MessageBytes,
    Plan,
    Result,
    Run,
    Unavailable,
    Warning,
)
from tinygram_bench.model.sweep import Point, Sweep
from tinygram_bench.statistics import compare, summarise
from tinygram_bench.statistics.figures.spent import Spent
from tinygram_bench.statistics.workloads import WORKLOADS

MESSAGES = 10_000
deterministic = settings(derandomize=True, deadline=None, database=None)


def way(text: str, rate_per_s: float | None = None) -> Case:
    """The case of `runtime/strategy`, or of `runtime/implementation/strategy`."""
    runtime, *implementation, strategy = text.split("/")
    is_paced = rate_per_s is not None
    return Case(
        case_id=f"{text} {rate_per_s or 'flat'}",
        workload="stream",
        runtime=runtime,
        implementation=implementation[0] if implementation else "stdlib",
        strategy=strategy,
        link="loopback",
        message_bytes=MessageBytes(1, 500),
        rate_per_s=rate_per_s,
        arrival="constant" if is_paced else None,
        burst=1 if is_paced else None,
        producers=1,
        connections=1,
        placement="apart",
        parameters=StreamParameters(
            messages=MESSAGES,
            warm_up_messages=0,
            max_batch_bytes=64 << 10,
            receive_buffer_bytes=256 << 10,
            receiver_command=None,
            congestion_control="cubic",
            timeout_ns=60_000_000_000,
            busy_thread=False,
        ),
    )


def histogram(values_ns: Iterable[int]) -> str:
    made = Histogram()
    for value_ns in values_ns:
        made.record(value_ns)
    return made.to_base64()


def flat_out_run(case: Case, number: int, throughput_per_s: float) -> Run:
    counters: dict[str, int | None] = {
        "messages": MESSAGES,
        "bytes": MESSAGES * 250,
        "writes": MESSAGES // 10,
        "reads": 500,
        "run_time_ns": round(MESSAGES / throughput_per_s * 1e9),
    }
    return Run(case.case_id, number, counters, {})


def paced_run(case: Case, number: int, latency_us: float, samples: int = 200) -> Run:
    counters: dict[str, int | None] = {"messages": MESSAGES, "writes": MESSAGES, "cpu_ns": 10**8}
    latency = histogram([round(latency_us * 1_000)] * samples)
    return Run(case.case_id, number, counters, {"latency_ns": latency})


def flat_out(throughputs: Mapping[str, Sequence[float]]) -> tuple[Plan, tuple[Run, ...]]:
    """way → messages/s of each round."""
    cases = {text: way(text) for text in throughputs}
    runs = [
        flat_out_run(cases[text], number, value)
        for text, values in throughputs.items()
        for number, value in enumerate(values)
    ]
    return plan_of(cases.values(), runs), tuple(runs)


def flat_out_in_slices(factors: Mapping[str, Sequence[float]]) -> tuple[Plan, tuple[Run, ...]]:
    """way → messages in 10 µs in each round, alike in its slices, of ways that took turns."""
    plan, runs = flat_out(
        {text: [each * 1e5 for each in of_rounds] for text, of_rounds in factors.items()}
    )
    cases = [
        msgspec.structs.replace(
            case, parameters=msgspec.structs.replace(case.parameters, slice_ns=20_000_000)
        )
        for case in plan.cases
    ]
    rates = [each * 1e5 for of_rounds in factors.values() for each in of_rounds]
    sliced = tuple(
        msgspec.structs.replace(run, slices={"throughput_per_s": (rate_per_s,) * 3})
        for run, rate_per_s in zip(runs, rates, strict=True)
    )
    return plan_of(cases, sliced), sliced


def paced(latencies_us: Mapping[str, Sequence[float]]) -> tuple[Plan, tuple[Run, ...]]:
    """way → the latency of every message of each round, at 1,000/s."""
    cases = {text: way(text, 1_000) for text in latencies_us}
    runs = [
        paced_run(cases[text], number, value)
        for text, values in latencies_us.items()
        for number, value in enumerate(values)
    ]
    return plan_of(cases.values(), runs), tuple(runs)


def swept(ways: Sequence[str], rates: Sequence[float], rounds: int) -> Result:
    """A sweep of the rate over paced ways; each is slower than the one before it."""
    cases = {(text, rate): way(text, rate) for rate in rates for text in ways}
    runs = [
        paced_run(case, number, 10 * (at + 1))
        for at, case in enumerate(cases.values())
        for number in range(rounds)
    ]
    points = tuple(Point(rate, tuple(cases[text, rate].case_id for text in ways)) for rate in rates)
    sweep = Sweep("rate", rates[0], rates[-1], rounds, steps=(points,))
    plan = plan_of(cases.values(), runs)
    return result_of(msgspec.structs.replace(plan, sweep=sweep), runs)


def with_pacing_error(run: Run, error_us: float) -> Run:
    """The run, whose messages were all released so late."""
    error = histogram([round(error_us * 1_000)] * 200)
    return msgspec.structs.replace(run, histograms={**run.histograms, "pacing_error_ns": error})


def plan_of(cases: Iterable[Case], runs: Iterable[Run]) -> Plan:
    return Plan(tuple(cases), rounds=max((run.round for run in runs), default=0) + 1, seed=1)


def result_of(plan: Plan, runs: Sequence[Run], unavailable: tuple[Unavailable, ...] = ()) -> Result:
    plan = msgspec.structs.replace(plan, unavailable=(*plan.unavailable, *unavailable))
    summaries = summarise(plan, runs)
    return Result(
        schema_version=SCHEMA_VERSION,
        command=("tinygram", plan.cases[0].workload if plan.cases else "stream"),
        environment={},
        plan=plan,
        runs=tuple(runs),
        summaries=summaries,
        verdicts=compare(plan, summaries, runs),
    )


def failed(run: Run, failure: str = "connection reset") -> Run:
    return Run(run.case_id, run.round, {}, {}, failure=failure)


def warned(run: Run, *warnings: Warning) -> Run:
    return msgspec.structs.replace(run, warnings=warnings)


def arrival_spent(case: Case, run: Run) -> Spent | None:
    return WORKLOADS[case.workload].arrival_spent(case, run)
