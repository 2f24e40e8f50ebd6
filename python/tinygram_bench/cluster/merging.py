"""Merges runs of the same case on several hosts at the same time into one run.

Histograms are merged exactly, bucket by bucket. Counts add up; times that ran in parallel count as
the longest of them. A sum is not known where a host's part is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from tinygram_bench._native import Histogram
from tinygram_bench.cluster import PARTIAL
from tinygram_bench.model.parameters import EchoParameters, RrParameters
from tinygram_bench.model.result import (
    EVERY_FIGURE,
    TIMES_OF_A_HOST,
    Case,
    HostRun,
    Run,
    Warning,
)
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slice_figures import LATE_US
from tinygram_bench.statistics.figures.counters import FORMULAS
from tinygram_bench.statistics.figures.spreads import pooled, spread_of
from tinygram_bench.statistics.verdicts.doubts import MAX_PACING_ERROR_SHARE
from tinygram_bench.tls.records import FAREWELL_BYTES
from tinygram_bench.workloads.echo.marks import ServerUsed
from tinygram_bench.workloads.rr.outcome import check_records, check_server
from tinygram_bench.workloads.rr.withheld import REQUESTS
from tinygram_bench.workloads.warnings import strangers_told, uncounted_writes_told

LONGEST = frozenset(
    {
        "clock_bound_ns",
        "clock_round_trip_ns",
        "connect_max_ns",
        "behind_ns",
        "early_ns",
        "last_due_ns",
        "middle_ns",
        "most_messages_of_a_worker",
        "receive_buffer_bytes",
        "rtt_us",
        "run_time_ns",
        "send_buffer_bytes",
        "send_mss_bytes",
        "slice_lasted_ns",
        "slices",
        "slices_entered",
        "slices_overrun",
        "startup_ns",
    }
)
"""Counters of what hosts have in parallel, of which the largest counts."""
FEWEST = frozenset({"fewest_messages_of_a_worker"})
"""Counters of which the least of all hosts counts."""
MEAN = frozenset({"connect_ns"})
OWN = frozenset({"peer_port"})
"""Counters that only say something about one host's run."""
GENERATOR_LATE = "generator_late"
LATE_START = "late_start"
STEP_UNKNOWN = "step_unknown"
_SUMMED_SLICES = frozenset({"throughput_per_s", "calls_per_s"})
_BLURRED = {
    "p50": (50.0, ("latency_min", "latency_mean", "latency_p50")),
    "p99": (99.0, ("latency_p99", "latency_max")),
}
"""Percentile of a host's pacing error → the figures that it blurs (as in
statistics/warnings.py)."""
_TIMES = ("latency", "call", "round_trip")
"""The histograms of which a host's row has statistics."""
_MOST_NAMED = 3


class Part(Struct, frozen=True):
    """What one generator made of a case; `server`: the host of its far end.

    `run` is None where it told nothing, and `lost` says why. `step_fault`: why `step_error_ns` is
    None.
    """

    host: str
    server: str
    case: Case
    run: Run | None
    step_error_ns: int | None = None
    late_ns: int | None = None
    lost: str | None = None
    step_fault: str | None = None

    @property
    def failure(self) -> str | None:
        """Why the part is not in the figures; None: it is."""
        return self.lost or (None if self.run is None else self.run.failure)


def merged(
    case: Case, round: int, parts: Sequence[Part], servers: Sequence[ServerUsed] = ()
) -> Run:
    """One run of all parts; partial where a host failed, and failed where all did.

    `servers`: what each server that the parts share has used, if that is known.
    """
    rows = tuple(map(row_of, parts))
    good = [(part.host, part.run) for part in parts if part.run and part.failure is None]
    failed = [f"{part.host}: {part.failure}" for part in parts if part.failure is not None]
    if not good:
        return Run(case.case_id, round, {}, {}, failure="; ".join(failed), hosts=rows)
    runs = [run for _, run in good]
    counters = _counters([run.counters for run in runs])
    histograms = dict.fromkeys(name for run in runs for name in run.histograms)
    counters |= {"generators": len(runs), "step_error_ns": step_error_ns(parts)}
    if servers:
        shares = [part.case for part in parts if part.run is not None]
        counters |= _counters(servers)
        try:
            counters |= _checked(case, shares, counters, len(servers))
        except RunError as fault:
            return Run(case.case_id, round, {}, {}, failure=str(fault), hosts=rows)
    warnings = [
        *_of_all(good),
        *_of_servers(case, counters, is_known=bool(servers)),
        *_late_starts(parts),
        *_steps_not_known(parts),
        *_late_generators(parts),
    ]
    if failed:
        warnings.append(
            Warning(
                PARTIAL,
                f"the run is partial: {len(failed)} of {len(parts)} hosts are not in it, and their "
                f"share of the load was not sent to its end: {'; '.join(failed)}",
                EVERY_FIGURE,
            )
        )
    return Run(
        case.case_id,
        round,
        counters,
        {name: pooled(runs, name).to_base64() for name in histograms},
        tuple(warnings),
        slices=_slices([run.slices for run in runs]),
        hosts=rows,
    )


def _checked(
    case: Case, shares: Sequence[Case], counters: dict[str, int | None], servers: int
) -> dict[str, int | None]:
    """Check what all hosts counted against what their servers did. Raises RunError.

    Returns the servers' writes without those by which they took leave of clients over TLS: they are
    asked when these have ended.
    """
    if case.workload == "echo":
        replied_bytes = counters.get("wire_bytes", counters["bytes"]) or 0
        written_bytes, writes = counters["written_bytes"], counters["writes"]
        if written_bytes is None or writes is None:
            return {}
        farewells, rest = 0, written_bytes - replied_bytes
        if EchoParameters.of(case).tls:
            farewells, rest = divmod(rest, FAREWELL_BYTES)
        if rest or not 0 <= farewells <= case.connections:
            raise RunError(
                f"the servers' counted writes hold {written_bytes} bytes, and the replies to all "
                f"hosts {replied_bytes}"
            )
        return {"written_bytes": replied_bytes, "writes": writes - farewells}
    known = {name: count for name, count in counters.items() if count is not None}
    warm_up = sum(each.producers * RrParameters.of(each).warm_up_calls for each in shares)
    check_server(known, known["calls"] + warm_up + servers * REQUESTS)
    if RrParameters.of(case).tls:
        check_records(known, known["calls"] * case.message_bytes.max)
    return {}


def _of_servers(
    case: Case, counters: Mapping[str, int | None], *, is_known: bool
) -> Iterator[Warning]:
    """The warnings of servers that all hosts share."""
    if is_known:
        yield from strangers_told(counters)
        if case.workload == "echo":
            yield from uncounted_writes_told(counters)


def step_error_ns(parts: Sequence[Part]) -> int | None:
    """The most by which slices of two hosts may have been out of step; None: not known."""
    of_each = [part.step_error_ns for part in parts if part.run and part.failure is None]
    errors = sorted(each for each in of_each if each is not None)
    return sum(errors[-2:]) if errors and len(errors) == len(of_each) else None


def row_of(part: Part) -> HostRun:
    """A host's row of the result."""
    run = part.run
    counters: Mapping[str, int | None] = {} if run is None else run.counters
    middle_ns = counters.get("middle_ns")
    middle_messages = counters.get("middle_messages")
    spreads = {time: None if run is None else spread_of(run, time) for time in _TIMES}
    times_us: dict[str, float | None] = {
        f"{time}_{statistic}_us": None if spread is None else spread.us(statistic)
        for time, spread in spreads.items()
        for statistic in TIMES_OF_A_HOST
    }
    return HostRun(
        host=part.host,
        server=part.server,
        connections=part.case.connections,
        rate_per_s=part.case.rate_per_s,
        messages=counters.get("messages"),
        throughput_per_s=(
            middle_messages / middle_ns * 1e9
            if part.case.is_flat_out and middle_ns and middle_messages is not None
            else None
        ),
        clock_bound_ns=counters.get("clock_bound_ns"),
        step_error_ns=part.step_error_ns,
        late_start_ns=part.late_ns,
        warnings=() if run is None else tuple(dict.fromkeys(each.code for each in run.warnings)),
        failure=part.failure,
        calls=counters.get("calls"),
        calls_per_s=FORMULAS["calls_per_s"](counters),
        **times_us,
    )


def _counters(of_hosts: Sequence[Mapping[str, int | None]]) -> dict[str, int | None]:
    names = dict.fromkeys(name for each in of_hosts for name in each if name not in OWN)
    found: dict[str, int | None] = {}
    for name in names:
        values = [each.get(name) for each in of_hosts]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            found[name] = None
        elif name in LONGEST:
            found[name] = max(known)
        elif name in FEWEST:
            found[name] = min(known)
        else:
            found[name] = round(fmean(known)) if name in MEAN else sum(known)
    return found


def _slices(
    of_hosts: Sequence[Mapping[str, Sequence[float | None]]],
) -> dict[str, tuple[float | None, ...]]:
    """The figures of all hosts, slice by slice.

    Rates add up, the last message is that of the latest host, and other figures are means over
    hosts, because percentiles of all are not known from theirs. A host with a smaller share may
    have longer blocks of slices, and fewer of them: of the others, the mean of their blocks in
    about the same time counts.
    """
    found = {}
    for name in of_hosts[0]:
        columns = [each.get(name, ()) for each in of_hosts]
        count = min(map(len, columns))
        found[name] = tuple(
            _slice(name, [_of_time(each, index, count) for each in columns])
            for index in range(count)
        )
    return found


def _of_time(values: Sequence[float | None], index: int, count: int) -> float | None:
    """A host's mean in part `index` of the time, which has `count` parts; None: not known."""
    found = values[index * len(values) // count : (index + 1) * len(values) // count]
    known = [value for value in found if value is not None]
    return fmean(known) if len(known) == len(found) else None


def _slice(name: str, values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    if name == LATE_US:
        return max(known)
    return sum(known) if name in _SUMMED_SLICES else fmean(known)


def _of_all(good: Sequence[tuple[str, Run]]) -> Iterator[Warning]:
    """The hosts' warnings, one for each code, with the hosts and the first one's message."""
    by_code: dict[str, list[tuple[str, Warning]]] = {}
    for host, run in good:
        for warning in run.warnings:
            by_code.setdefault(warning.code, []).append((host, warning))
    for code, found in by_code.items():
        hosts = list(dict.fromkeys(host for host, _ in found))
        figures = dict.fromkeys(figure for _, each in found for figure in each.figures)
        yield Warning(code, f"{_named(hosts, len(good))}: {found[0][1].message}", tuple(figures))


def _late_starts(parts: Sequence[Part]) -> Iterator[Warning]:
    late = {part.host: part.late_ns for part in parts if part.run and part.late_ns}
    if late:
        longest_ms = max(late.values()) / 1e6
        yield Warning(
            LATE_START,
            f"{_named(list(late), len(parts))}: told the common start up to {longest_ms:.1f} ms "
            "after it; what was due by then was sent late, and its latency counts from when it was "
            "due",
        )


def _steps_not_known(parts: Sequence[Part]) -> Iterator[Warning]:
    faults = {part.host: part.step_fault for part in parts if part.run and part.step_fault}
    if faults:
        yield Warning(
            STEP_UNKNOWN,
            f"{_named(list(faults), len(parts))}: by how much slices were out of step is not "
            f"known: {next(iter(faults.values()))}",
        )


def _late_generators(parts: Sequence[Part]) -> Iterator[Warning]:
    """The warning of hosts whose own pacer was late, which the merged histogram would hide."""
    late: dict[str, tuple[str, ...]] = {}
    for part in parts:
        run = part.run
        if run is None or not {"pacing_error_ns", "latency_ns"} <= run.histograms.keys():
            continue
        error = Histogram.from_base64(run.histograms["pacing_error_ns"])
        latency = Histogram.from_base64(run.histograms["latency_ns"])
        for percentile, figures in _BLURRED.values():
            limit_ns = MAX_PACING_ERROR_SHARE * latency.percentile_ns(percentile)
            if latency.count and error.percentile_ns(percentile) > limit_ns:
                late[part.host] = (*late.get(part.host, ()), *figures)
    if late:
        figures = tuple(dict.fromkeys(figure for each in late.values() for figure in each))
        yield Warning(
            GENERATOR_LATE,
            f"{_named(list(late), len(parts))}: fell behind the schedule, by over a quarter of the "
            "latency; give each host less of the rate, with more --clients or a lower --rate",
            figures,
        )


def _named(hosts: Sequence[str], of: int) -> str:
    if len(hosts) == of:
        return "every host" if of > 1 else hosts[0]
    more = len(hosts) - _MOST_NAMED
    named = ", ".join(hosts[:_MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named
