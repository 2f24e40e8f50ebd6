"""The outcome of a run of `rr`: every call is answered by a reply, and every reply is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slice_figures import (
    Values,
    counters_of,
    cpu_us_of_one,
    late_us,
    percentiles_us,
)
from tinygram_bench.runs.slices import LEAST_MESSAGES, Slices, Used
from tinygram_bench.statistics.figures.spreads import pooled
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES
from tinygram_bench.workloads.rr import withheld
from tinygram_bench.workloads.rr.calling import merged_slices
from tinygram_bench.workloads.rr.order import Report, SliceTally, Start
from tinygram_bench.workloads.rr.warnings import warnings_of

_FAULTS = {
    "server_short_requests": "connections ended in the middle of a request",
    "server_wrong_requests": "connections sent other bytes than were to be sent",
    "server_failed_connections": "connections failed",
    "server_idle_connections": "connections were closed because they made no progress",
    "server_evicted_connections": "connections were closed to make room for others",
}


class Found(Struct, frozen=True):
    """The counts of each side. `server` None: it is not ours; `slices`, `used` None: no slices."""

    start: Start
    reports: Sequence[Report]
    server: dict[str, int] | None
    others: dict[str, int | None]
    slices: Slices | None = None
    used: Used | None = None


def assembled(case: Case, round: int, found: Found, *, has_private_network: bool) -> Run:
    """Check that both sides agree, and add up their counts. Raises RunError."""
    summed: Counter[str] = Counter()
    for report in found.reports:
        summed.update(report.counters)
    last_ns = max(report.counters["last_ns"] for report in found.reports)
    behind_ns = max(report.counters["behind_ns"] for report in found.reports)
    del summed["last_ns"], summed["behind_ns"]
    not_begun = summed.pop("calls_not_begun")
    if not summed["calls"]:
        raise RunError("no call was finished: allow more time with --duration")
    callers = case.producers
    warm_up = callers * RrParameters.of(case).warm_up_calls
    if found.server is not None:
        check_server(found.server, summed["calls"] + warm_up + withheld.REQUESTS)
        if RrParameters.of(case).tls:
            check_records(found.server, summed["calls"] * case.message_bytes.max)
    _check_law(summed)
    counters: dict[str, int | None] = {
        **summed,
        "callers": callers,
        "run_time_ns": last_ns - found.start.start_ns,
        **(found.server or {}),
        **found.others,
    }
    histograms = ["call_ns", "connect_ns"]
    if case.rate_per_s is not None:
        counters |= {"calls_not_begun": not_begun, "behind_ns": behind_ns}
        histograms.append("start_delay_ns")
    in_slices: dict[str, Values] = {}
    if found.slices is not None and found.used is not None:
        slices = _slices(found.reports, found.start)
        per_slice = _per_slice(case, found.slices)
        in_slices = _in_slices(callers, slices, found.used, per_slice)
        spans = zip(slices, found.start.slices, strict=True)
        in_slices |= late_us([each.last_ns - span.end_ns for each, span in spans])
        counters |= counters_of(found.used)
    merged = {name: pooled(found.reports, name) for name in histograms}
    asked_ns = RrParameters.of(case).duration_ns or 0
    warnings = warnings_of(
        case,
        counters,
        asked_ns if found.slices is None else found.slices.own_ns,
        merged["call_ns"].min_ns,
        has_private_network=has_private_network,
    )
    return Run(
        case.case_id,
        round,
        counters,
        {name: each.to_base64() for name, each in merged.items()},
        warnings,
        slices=in_slices,
    )


def _slices(reports: Sequence[Report], start: Start) -> list[SliceTally]:
    """What all callers found, slice by slice. Raises RunError."""
    slices = merged_slices(report.slices for report in reports)
    if len(slices) != len(start.slices):
        raise RunError(f"the callers report {len(slices)} of {len(start.slices)} slices")
    return slices


def _per_slice(case: Case, slices: Slices) -> float:
    """How many measured calls a slice has, or has at least; the same for all cases of a load."""
    if case.rate_per_s is None:
        return LEAST_MESSAGES
    return max(1.0, case.rate_per_s * slices.measured_ns / 1e9)


def _in_slices(
    callers: int, slices: Sequence[SliceTally], used: Used, per_slice: float
) -> dict[str, Values]:
    """The figures of each slice, or block of slices; calls per second only without a rate."""
    calls_ns = [each.calls_ns for each in slices]
    return percentiles_us("call", calls_ns, per_slice) | {
        "calls_per_s": tuple(
            len(each.calls_ns) * callers / each.callers_time_ns * 1e9
            if each.callers_time_ns
            else None
            for each in slices
        ),
        "cpu_us_per_call": cpu_us_of_one(used, [each.calls for each in slices]),
    }


def check_server(counted: Mapping[str, int], calls: int) -> None:
    """Raise RunError where the server reports faults, or counted another number of requests."""
    faults = [f"{counted[name]} {words}" for name, words in _FAULTS.items() if counted.get(name)]
    if faults:
        raise RunError(f"the server reports that {', '.join(faults)}")
    if counted["server_requests"] != calls:
        raise RunError(
            f"the server counted {counted['server_requests']} requests, and {calls} were made"
        )


def check_records(counted: Mapping[str, int], plain_bytes: int) -> None:
    """Raise RunError where the records have other bytes than the requests and these records."""
    records, wire_bytes = counted["tls_records"], counted["wire_bytes"]
    expected_bytes = plain_bytes + RECORD_OVERHEAD_BYTES * records
    if wire_bytes != expected_bytes:
        raise RunError(
            f"{records} TLS records with requests have {wire_bytes} bytes, and not the "
            f"{expected_bytes} that the requests and these records take"
        )


def _check_law(summed: Counter[str]) -> None:
    """Raise RunError if a caller was in two calls at a time: times or calls are miscounted then."""
    in_calls_ns = summed["call_time_ns"] + summed["connect_time_ns"]
    if in_calls_ns > summed["callers_time_ns"]:
        raise RunError(
            f"the callers were {in_calls_ns} ns in calls, and had only "
            f"{summed['callers_time_ns']} ns: by Little's law that cannot be"
        )
