"""Slices that another case reaches into, by messages that come late or by CPU time that it uses.

A host that stops for a while makes any case late now and then, and its messages come in whichever
slice is next: a warning tells of that, and bars nothing. A case that is late in most of its slices,
since it cannot keep up or holds messages for longer than its gap, affects the others' figures time
and again: cases that it reaches are not compared, and its own latencies are those of a backlog. A
case that goes on using a core in the slices of others is compared with none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec.structs import replace

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import EVERY_FIGURE, Run, Warning
from tinygram_bench.runs.slice_figures import LATE_US
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.statistics.recurring import FELL_BEHIND

_REGULARLY = 0.5
"""A case is an intruder if it is late beyond its gap in more of its own slices than this share."""
_MOST_ENTERED = 0.1
"""Share of a case's slices in which intruders' messages may come before nothing is compared."""
_MOST_OVERRUN = 0.1
"""Share of the slices that may reach into the next case's before a warning tells of it."""

_MOST_OF_A_CORE = 0.1
"""The share of a core that an end may use in others' slices before its case is not compared."""


def told(runs: Sequence[Run], turns: Sequence[Slices]) -> list[Run]:
    """The runs of a group, with the slices that overran or were entered, counted and warned of."""
    overrun = [_overrun(run, slices) for run, slices in zip(runs, turns, strict=True)]
    intruders = {
        number
        for number, slices in enumerate(turns)
        if overrun[number] > _REGULARLY * len(slices.begins_ns)
    }
    return [
        _told(run, overrun[number], turns[number], entered, intruders, runs)
        if LATE_US in run.slices
        else run
        for number, (run, entered) in enumerate(zip(runs, _entered(runs, turns), strict=True))
    ]


def _overrun(run: Run, slices: Slices, allowed_ns: int = 0) -> int:
    """How many of the run's slices reach beyond their gap, into the slice that follows."""
    latest_ns = slices.gap_ns + allowed_ns
    return sum((late_us or 0) * 1e3 > latest_ns for late_us in run.slices.get(LATE_US, ()))


def _shortest_round_trip_ns(run: Run) -> int | None:
    """The shortest call, or round trip, of a run at a rate; None for other runs."""
    if "start_delay_ns" not in run.histograms:
        return None
    (of_trips,) = run.histograms.keys() & {"call_ns", "round_trip_ns"}
    return Histogram.from_base64(run.histograms[of_trips]).min_ns


def _entered(runs: Sequence[Run], turns: Sequence[Slices]) -> list[list[Set[int]]]:
    """For each case and each of its slices, the cases (by number) whose messages came in it."""
    order = sorted(
        (begin_ns, number, index)
        for number, slices in enumerate(turns)
        for index, begin_ns in enumerate(slices.begins_ns)
    )
    entered: list[list[Set[int]]] = [[] for _ in runs]
    until_ns = [0.0] * len(runs)
    for begin_ns, number, index in order:
        entered[number].append(
            {
                other
                for other, ns in enumerate(until_ns)
                # Cases with the same slices run at the same time, and are not late for each other.
                if ns > begin_ns and turns[other] is not turns[number]
            }
        )
        late_us = runs[number].slices.get(LATE_US)
        if late_us is not None:
            ends_ns = begin_ns + turns[number].slice_ns + (late_us[index] or 0) * 1e3
            until_ns[number] = max(until_ns[number], ends_ns)
    return entered


def _told(
    run: Run,
    overrun: int,
    slices: Slices,
    entered: Sequence[Set[int]],
    intruders: Set[int],
    runs: Sequence[Run],
) -> Run:
    counted = {"slices_overrun": overrun, "slices_entered": sum(map(bool, entered))}
    warnings = (
        *_overrun_told(run, overrun, slices),
        *_entered_told(entered, intruders, runs),
    )
    return replace(run, counters={**run.counters, **counted}, warnings=(*run.warnings, *warnings))


def _overrun_told(run: Run, overrun: int, turns: Slices) -> Iterator[Warning]:
    slices = len(turns.begins_ns)
    late = f"in {overrun} of {slices} slices messages came after the next case's slice had begun"
    behind = overrun
    figures: tuple[str, ...] = ("latency_", "last_")
    shortest_ns = _shortest_round_trip_ns(run)
    if shortest_ns is not None:
        # The times of calls hold a backlog, but a slow reply to each of them is none.
        behind = _overrun(run, turns, shortest_ns)
        figures = ("call_", "round_trip_", "start_delay_")
    if behind > _REGULARLY * slices:
        what = f"{late}: the load is above what this way can send, or something stops it all along"
        yield Warning(FELL_BEHIND, what, figures)
    elif overrun > _MOST_OVERRUN * slices:
        what = f"{late}: the load is too high for this way, or something stopped it"
        yield Warning("slices_overrun", what)


def _entered_told(
    entered: Sequence[Set[int]], intruders: Set[int], runs: Sequence[Run]
) -> Iterator[Warning]:
    by_intruders = [found for each in entered if (found := each & intruders)]
    if len(by_intruders) > _MOST_ENTERED * len(entered):
        ((whose, _),) = Counter(each for found in by_intruders for each in found).most_common(1)
        message = (
            f"in {len(by_intruders)} of {len(entered)} slices messages still came of a case that "
            f"falls behind in most of its own, most often of {runs[whose].case_id}: leave it out, "
            "have less sent, or let each run alone (--lone)"
        )
        yield Warning("slices_entered", message, EVERY_FIGURE)


def restless_told(
    runs: Sequence[Run], turns: Sequence[Slices], used_by: Mapping[int, Used]
) -> list[Run]:
    """The runs of a group, with warnings where one used a core in the slices of others.

    `used_by`: the number of a run, which may have failed since → what its processes used.
    """
    shares = {
        number: share
        for number, used in used_by.items()
        if any(each is not turns[number] for each in turns)
        and (share := _share_of_a_core(turns[number], used)) > _MOST_OF_A_CORE
    }
    found = []
    for number, run in enumerate(runs):
        # Cases with the same slices run at the same time.
        others = [each for each in shares if turns[each] is not turns[number]]
        warnings = [
            *([_restless(shares[number])] if number in shares else []),
            *([_beside(runs[others[0]], shares[others[0]])] if others else []),
        ]
        if warnings and run.failure is None:
            run = replace(run, warnings=(*run.warnings, *warnings))
        found.append(run)
    return found


def _share_of_a_core(slices: Slices, used: Used) -> float:
    """The share of a core that a case used in its rests; 0 where a single slice leaves no rest.

    The rests lie between the first slice and the last one, where CPU time is known.
    """
    begins_ns = slices.begins_ns
    rests_ns = begins_ns[-1] - begins_ns[0] - slices.slice_ns * (len(begins_ns) - 1)
    return max(used.resting or 0, used.other_resting or 0) / rests_ns if rests_ns else 0.0


def _restless(share: float) -> Warning:
    message = f"it used {share:.0%} of a core in the slices of others: nothing is compared with it"
    return Warning("restless", message, EVERY_FIGURE)


def _beside(restless: Run, share: float) -> Warning:
    return Warning(
        "beside_restless",
        f"{restless.case_id} used {share:.0%} of a core in the slices of others: leave it out, or "
        "let each run alone (--lone)",
    )
