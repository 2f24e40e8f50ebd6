"""Text on all figures of a result: how to read them, how sure they are, and their links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from tinygram_bench.model.parameters import ALLOWED_SYSCTL, DEFAULT_CONGESTION_CONTROL
from tinygram_bench.model.result import Case, LinkFacts, Result
from tinygram_bench.report.numbers import number
from tinygram_bench.report.prose import joined
from tinygram_bench.report.table import Column, Shown, Table, table_of
from tinygram_bench.statistics.figures.intervals import looks_of
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.links import LinkSummary, links_of
from tinygram_bench.statistics.workloads.loads import SLICE_LASTED, is_alone, load_name, turns_of

_OPTION = "--congestion-control"
_ALONE_BY = {
    *("--lone", "--messages", "--calls", "--probe", "--published", "--sweep", "--scenario"),
    *("--busy-thread", "--cross-check"),
}
"""Options with which cases run alone, or may."""
_LINKS = "Links: what was asked, and what they did over all runs (times in µs)"
_LINK: tuple[Shown[LinkSummary], ...] = (
    Shown(Column("link"), lambda link: link.name),
    Shown(Column("backend"), lambda link: _backend(link.facts)),
    Shown(Column("RTT"), lambda link: _us(link.facts.rtt_ns)),
    Shown(Column("ping-pong\nasked", 1), lambda link: _us(link.facts.asked_rtt_ns)),
    Shown(Column("ping-pong\nfound", 1), lambda link: number(link.found_rtt_us)),
    Shown(Column("late\np50", 6), lambda link: number(link.late_p50_us)),
    Shown(Column("late\np99"), lambda link: number(link.late_p99_us)),
    Shown(Column("late\nmax", 5), lambda link: number(link.late_max_us)),
    Shown(Column("runs\namiss"), lambda link: f"{link.amiss_runs} of {link.runs}"),
    Shown(Column("relay's\nCPU µs", 7), lambda link: number(link.cpu_us_per_packet)),
    Shown(Column("packets\nlost", 4), lambda link: f"{link.lost_packets:,}"),
    Shown(Column("queue\nfull", 3), lambda link: f"{link.full_packets:,}"),
    Shown(Column("not\nasked", 2), lambda link: f"{link.unasked_packets:,}"),
    Shown(Column("MTU\nB", 8), lambda link: str(link.facts.mtu_bytes)),
    Shown(Column("device\nqueue", 9), lambda link: f"{link.facts.device_queue_packets:,}"),
)
_LINK_NOTES = (
    "ping-pong: a program's, when the link was up, without jitter and loss, with an RTT of 10 ms "
    "at most and 10 Mbit/s at least; late: after the link's own time; amiss: the link was late, "
    "slow or fast: cases of which half the runs are so have no verdict, late ones in slices where "
    "the lateness differs too much; relay's CPU: for each packet, in no other column of CPU, "
    "with the receive work of both hosts' kernels; not asked: packets dropped by a device, the "
    "relay or its socket; offload: TCP's segments stay together on their way.",
)


class Surroundings(Struct, frozen=True):
    """How to read the figures, in brief, and in full with a paragraph for each topic.

    `remarks` are on what is unusual.
    """

    brief: str
    full: tuple[str, ...]
    remarks: tuple[str, ...]


def surroundings_of(result: Result, cpu: str | None = None) -> Surroundings:
    """The text of every report on its rounds, intervals and CPU columns (`cpu`)."""
    plan = result.plan
    asked_rounds = plan.rounds if result.ending is None else result.ending.rounds
    asked = sum(len(plan.due(round)) for round in range(asked_rounds))
    stopped = (
        "" if len(result.runs) == asked else f", stopped after {len(result.runs)} of {asked} runs"
    )
    cases = "1 case" if len(plan.cases) == 1 else f"{len(plan.cases)} cases"
    rounds = "1 round" if asked_rounds == 1 else f"{asked_rounds} rounds"
    run = f"{cases}, {rounds} in random order (seed {plan.seed}){stopped}."
    confidence = _confidence(result)
    if confidence is None:
        why = _without_interval(result)
        brief, intervals = why, why
    else:
        brief = f"Figures are medians; low–high holds the true median with {confidence}."
        intervals = (
            f"Figures are medians over the rounds; low–high holds the true median with "
            f"{confidence}{_fewer_rounds(result)}. The least, the greatest and percentiles too "
            "rare for one round are those of all rounds together. Each interval and verdict "
            f"stands by itself (no correction for many comparisons){_looks(result)}."
        )
    meaning = (cpu,) if cpu and plan.cases else ()
    return Surroundings(
        f"{run} {brief}",
        (f"{' '.join(result.command)}: {run}", intervals, *meaning),
        (
            *_cpu_quota(result),
            *_congestion_control(result),
            *_noise_floor(result),
            *_ran_alone(result),
            *_longer_slices(result),
            *_condensed(result),
        ),
    )


def _looks(result: Result) -> str:
    looks = looks_of(result.plan)
    return "" if looks == 1 else f"; each counts all {looks} looks at which --until may end"


def _without_interval(result: Result) -> str:
    """A sentence on why the report does not tell how sure the figures are."""
    most = max((summary.rounds for summary in result.summaries), default=0)
    if not result.runs:
        return "No run was finished, so there are no figures."
    if not most:
        return f"Every run failed ({len(result.runs)} of {len(result.runs)}): there are no figures."
    if (
        any(run.failure is not None for run in result.runs)
        and len({run.round for run in result.runs}) > 1
    ):
        return (
            "Each figure is of a single round, for the others failed: nothing tells how sure it is."
        )
    return "Figures of a single round: nothing tells how sure they are."


def _confidences(result: Result) -> list[float]:
    return [summary.confidence for summary in result.summaries if summary.rounds]


def _confidence(result: Result) -> str | None:
    """`98.4% confidence`, a range where rounds failed; None where there is only one round."""
    confidences = _confidences(result)
    if not any(confidences):
        return None
    low, high = min(confidences), max(confidences)
    return f"{low:.1%} confidence" if low == high else f"{low:.1%} to {high:.1%} confidence"


def _fewer_rounds(result: Result) -> str:
    confidences = _confidences(result)
    if min(confidences) == max(confidences):
        return ""
    if any(run.failure is not None for run in result.runs):
        return ", which is lower the more rounds of a case failed"
    return ", which is lower where a case was not measured in the last round"


def _cpu_quota(result: Result) -> Iterator[str]:
    cores = result.environment.get("cpu_quota_cores")
    if cores is not None:
        yield (
            f"A CPU quota lets all processes of the measurement use {cores:g} cores together "
            "(cpu.max of their control group): what needs more is stopped for a while, and the "
            "figures hold for this quota."
        )


def _congestion_control(result: Result) -> Iterator[str]:
    """A remark on a congestion control that replaced the usual one without being asked for."""
    control = result.environment.get("congestion_control")
    if control in (None, DEFAULT_CONGESTION_CONTROL):
        return
    if any(word.split("=")[0] == _OPTION for word in result.command):
        return
    allowed = (result.environment.get("sysctls") or {}).get(ALLOWED_SYSCTL)
    yield (
        f"Both sides have the congestion control {control} in every case: the kernel does not "
        f"permit this user the usual one, {DEFAULT_CONGESTION_CONTROL} "
        f"({ALLOWED_SYSCTL}: {allowed or 'not known'})."
    )


def _condensed(result: Result) -> Iterator[str]:
    """A remark on what a result from one of the largest pages lacks."""
    if result.is_condensed:
        yield (
            "In the page that this result is in are the figures of each run, and not the "
            "histograms and slices that they come from: percentile curves, timelines and --hlog "
            "are of the result file alone."
        )


def _ran_alone(result: Result) -> Iterator[str]:
    """A remark on loads whose cases did not take turns, though nobody asked for that."""
    options = {word.split("=")[0] for word in result.command}
    # What a program or `rerun` has asked for is not in the command.
    is_plain = result.command[:1] == ("tinygram",) and "rerun" not in result.command
    if not is_plain or not options.isdisjoint(_ALONE_BY):
        return
    sharing: defaultdict[Hashable, list[Case]] = defaultdict(list)
    for case in result.plan.cases:
        if is_alone(case):
            sharing[turns_of(case)].append(case)
    loads = [load_name(cases[0]) for cases in sharing.values() if len(cases) > 1]
    if loads:
        yield (
            f"Cases of these loads ran one after the other, and not in slices: "
            f"{joined(list(dict.fromkeys(loads)))}. What the host did meanwhile may be part of "
            "their differences. Their runs are too short for slices: a longer --duration lets the "
            "cases take turns."
        )


def _longer_slices(result: Result) -> Iterator[str]:
    """A remark on slices that were longer than planned, with the reason."""
    planned_ns = {case.case_id: case.parameters.slice_ns for case in result.plan.cases}
    both_ns = [
        (planned_ns[run.case_id] or 0, lasted)
        for run in result.runs
        if (lasted := run.counters.get(SLICE_LASTED)) is not None
    ]
    longer = [(planned, lasted) for planned, lasted in both_ns if planned < lasted]
    if longer:
        planned_ms, lasted_ms = (_range_ms(each) for each in zip(*longer, strict=True))
        yield (
            f"In {len(longer)} of {len(both_ns)} runs slices lasted {lasted_ms} ms, longer than "
            f"the {planned_ms} ms planned. Messages or calls took so long before the start that "
            "shorter slices would have held too few of them in some case."
        )


def _range_ms(values_ns: Sequence[int]) -> str:
    """`20`, or `20 to 180.5`."""
    ends = (f"{round(end / 1e6, 1):g}" for end in (min(values_ns), max(values_ns)))
    return " to ".join(dict.fromkeys(ends))


def _noise_floor(result: Result) -> Iterator[str]:
    """Remarks on what the machine resolves, as `tinygram trust` found, for this result's loads."""
    floor = result.environment.get("noise_floor")
    if floor is None:
        return
    when = _before(floor["measured_at"], result.started_at)
    for load in dict.fromkeys(load_name(case) for case in result.plan.cases):
        resolved = floor["resolved"].get(load)
        if resolved:
            known = [f"{in_words(each)} to ±{share:.1%}" for each, share in resolved.items()]
            yield (
                f"Between two cases that are the same, this machine knew {joined(known)} ({load}, "
                f"over loopback with the messages of tinygram trust, {floor['pair_s']:g} s a "
                f"pair{when})."
            )


def _before(measured_at: str, started_at: str | None) -> str:
    """`, 2 hours before`; empty where the result does not know when it was started."""
    if started_at is None:
        return ""
    age = datetime.fromisoformat(started_at) - datetime.fromisoformat(measured_at)
    minutes = round(age.total_seconds() / 60)
    count, unit = (minutes, "minute") if minutes < 90 else (round(minutes / 60), "hour")
    return f", {count} {unit}{'' if count == 1 else 's'} before"


def link_tables(result: Result) -> tuple[Table, ...]:
    """The table of links; none where no run was over a link."""
    links = links_of(result)
    if not links:
        return ()
    meanings = tuple(
        f"{link.name}: {link.facts.meaning}" for link in links if link.facts.meaning != link.name
    )
    return (table_of(_LINKS, _LINK, links, (*meanings, *_LINK_NOTES)),)


def _backend(facts: LinkFacts) -> str:
    return f"{facts.backend} ({facts.device}{', offload' if facts.has_offload else ''})"


def _us(duration_ns: int | None) -> str:
    return number(None if duration_ns is None else duration_ns / 1e3)
