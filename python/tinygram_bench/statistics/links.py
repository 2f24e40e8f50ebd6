"""The links of a result, all rounds together: how late they were, and what was dropped."""

from __future__ import annotations

from msgspec import Struct

from tinygram_bench.model.result import LinkFacts, Result, Run
from tinygram_bench.statistics.figures.counters import Number
from tinygram_bench.statistics.figures.spreads import pooled
from tinygram_bench.statistics.link_warnings import LINK_FAULTS, UNASKED
from tinygram_bench.statistics.workloads.loads import alternates

_PERCENTILES = (50.0, 99.0)


class LinkSummary(Struct, frozen=True):
    """A link of one backend. Times in µs, None where not known; counts of packets and runs.

    `runs`: runs that shared the link count as one. `amiss_runs`: those whose link was late, slow or
    fast. `found_rtt_us`: the median over the runs of what a program's ping-pong took when the link
    was up. `late_…_us`: how long after their time packets were handed over. `cpu_us_per_packet`:
    CPU time of the relay's thread for each packet that it delivered, both hosts' receive work
    included.
    """

    name: str
    facts: LinkFacts
    runs: int
    amiss_runs: int
    found_rtt_us: Number
    late_p50_us: Number
    late_p99_us: Number
    late_max_us: Number
    cpu_us_per_packet: Number
    lost_packets: int
    full_packets: int
    unasked_packets: int


def links_of(result: Result) -> tuple[LinkSummary, ...]:
    """Every link and backend that runs used, in the order of the plan's cases.

    Of the runs that shared a link in a round, one stands for all: they have the same counts.
    """
    runs: dict[tuple[str, str, str], list[Run]] = {}
    of_case: dict[str, list[Run]] = {}
    for run in result.runs:
        of_case.setdefault(run.case_id, []).append(run)
    shared: set[tuple[str, int]] = set()
    for case in result.plan.cases:
        for run in of_case.get(case.case_id, ()):
            if run.link is None or (case.link, run.round) in shared:
                continue
            if alternates(case):
                shared.add((case.link, run.round))
            key = (case.link, run.link.backend, run.link.device)
            runs.setdefault(key, []).append(run)
    return tuple(_summary(name, of_link) for (name, _, _), of_link in runs.items())


def _summary(name: str, runs: list[Run]) -> LinkSummary:
    facts = [run.link for run in runs if run.link is not None]
    late = pooled(runs, "link_lateness_ns")
    p50, p99 = (late.percentile_ns(each) / 1e3 if late.count else None for each in _PERCENTILES)
    packets = _counted(runs, "_packets")
    found = sorted(ns for each in facts if (ns := each.measured_rtt_ns) is not None)
    return LinkSummary(
        name=name,
        facts=facts[0],
        runs=len(runs),
        amiss_runs=sum(any(each.code in LINK_FAULTS for each in run.warnings) for run in runs),
        found_rtt_us=found[len(found) // 2] / 1e3 if found else None,
        late_p50_us=p50,
        late_p99_us=p99,
        late_max_us=late.max_ns / 1e3 if late.count else None,
        cpu_us_per_packet=_counted(runs, "_relay_cpu_ns") / 1e3 / packets if packets else None,
        lost_packets=_counted(runs, "_lost"),
        full_packets=_counted(runs, "_full"),
        unasked_packets=_counted(runs, *UNASKED),
    )


def _counted(runs: list[Run], *ends: str) -> int:
    """The sum of the link's counters whose names have one of these endings."""
    return sum(
        count
        for run in runs
        for name, count in run.counters.items()
        if name.startswith("link_") and name.endswith(ends) and count
    )
