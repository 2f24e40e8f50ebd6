"""The outcome of a run of `rr`: every call is answered by a reply, and every reply is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.workers import RunError
from tinygram_bench.workloads.rr import withheld
from tinygram_bench.workloads.rr.order import Report, Start
from tinygram_bench.workloads.rr.warnings import warnings_of

_FAULTS = {
    "server_short_requests": "connections ended in the middle of a request",
    "server_wrong_requests": "connections sent other bytes than were to be sent",
    "server_failed_connections": "connections failed",
    "server_idle_connections": "connections were closed because they made no progress",
    "server_evicted_connections": "connections were closed to make room for others",
}


@dataclass(frozen=True)
class Found:
    """The counts of each side: `server` None where it is not ours."""

    start: Start
    reports: Sequence[Report]
    server: dict[str, int] | None
    others: dict[str, int | None]


def assembled(case: Case, round: int, found: Found, *, has_private_network: bool) -> Run:
    """Check that both sides agree, and add up. Raises RunError."""
    summed: Counter[str] = Counter()
    for report in found.reports:
        summed.update(report.counters)
    last_ns = max(report.counters["last_ns"] for report in found.reports)
    del summed["last_ns"]
    if not summed["calls"]:
        raise RunError("no call was finished: allow more time with --duration")
    callers = case.producers
    warm_up = callers * RrParameters.of(case).warm_up_calls
    if found.server is not None:
        _check_server(found.server, summed["calls"] + warm_up + withheld.REQUESTS)
    _check_law(summed)
    counters: dict[str, int | None] = {
        **summed,
        "callers": callers,
        "run_time_ns": last_ns - found.start.start_ns,
        **(found.server or {}),
        **found.others,
    }
    histograms = {name: _merged(found.reports, name) for name in ("call_ns", "connect_ns")}
    warnings = warnings_of(case, counters, has_private_network=has_private_network)
    return Run(case.case_id, round, counters, histograms, warnings)


def _check_server(counted: dict[str, int], calls: int) -> None:
    faults = [f"{counted[name]} {words}" for name, words in _FAULTS.items() if counted.get(name)]
    if faults:
        raise RunError(f"the server reports that {', '.join(faults)}")
    if counted["server_requests"] != calls:
        raise RunError(
            f"the server counted {counted['server_requests']} requests, and {calls} were made"
        )


def _check_law(summed: Counter[str]) -> None:
    """Check that no caller was in two calls at a time: else times or calls are miscounted."""
    in_calls_ns = summed["call_time_ns"] + summed["connect_time_ns"]
    if in_calls_ns > summed["callers_time_ns"]:
        raise RunError(
            f"the callers were {in_calls_ns} ns in calls, and had only "
            f"{summed['callers_time_ns']} ns: by Little's law that cannot be"
        )


def _merged(reports: Sequence[Report], name: str) -> str:
    merged = Histogram()
    for report in reports:
        merged.merge(Histogram.from_base64(report.histograms[name]))
    return merged.to_base64()
