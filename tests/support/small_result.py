"""A small result that has something of everything, for tests of what becomes of results."""

from __future__ import annotations

from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import (
    Case,
    Figure,
    MessageBytes,
    Plan,
    Result,
    Run,
    Summary,
    Verdict,
    Warning,
)

CASE = Case(
    case_id="stream/loop/stdlib/nodelay",
    workload="stream",
    runtime="loop",
    implementation="stdlib",
    strategy="nodelay",
    link="loopback",
    message_bytes=MessageBytes(min=1, max=500),
    rate_per_s=None,
    arrival=None,
    burst=None,
    producers=1,
    connections=1,
    placement="apart",
    parameters=StreamParameters(
        messages=1000,
        warm_up_messages=0,
        max_batch_bytes=64 << 10,
        receive_buffer_bytes=256 << 10,
        receiver_command=None,
        congestion_control="cubic",
        timeout_ns=60_000_000_000,
        busy_thread=False,
    ),
)
WARNING = Warning(code="two_modes", message="two modes in one sample", figures=("latency",))
RESULT = Result(
    schema_version=2,
    command=("tinygram", "stream"),
    environment={"kernel": "6.1.0", "governor": None, "allowed_cores": [0, 1]},
    plan=Plan(cases=(CASE,), rounds=1, seed=7),
    runs=(
        Run(
            case_id=CASE.case_id, round=0, counters={"writes": 1000}, histograms={"hold_ns": "SGlz"}
        ),
        Run(case_id=CASE.case_id, round=1, counters={}, histograms={}, failure="reset by peer"),
    ),
    summaries=(
        Summary(
            case=CASE,
            rounds=1,
            failed_rounds=1,
            confidence=0.5,
            figures={"writes": Figure(1000.0, 1000.0, 1000.0), "latency_p50_us": None},
            warnings=(WARNING,),
        ),
    ),
    verdicts=(
        Verdict(CASE.case_id, CASE.case_id, "writes", None, "cannot_say", "below six rounds"),
    ),
)
