"""Slices that messages of another case reach into: what comes late is in two cases' figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from tinygram_bench.model.result import Run, Warning
from tinygram_bench.run.sliced import LATE_US
from tinygram_bench.run.slices import Slices

_MOST_ENTERED = 0.1
"""Share of a case's slices in which others' messages may come before nothing is compared."""
_EVERY_FIGURE = ("latency", "queueing", "throughput", "call", "round_trip", "cpu")


def told(runs: Sequence[Run], turns: Sequence[Slices]) -> list[Run]:
    """The runs of a group; those in over a tenth of whose slices others' messages came, warned."""
    found = _entered(runs, turns)
    return [_warned(run, each, runs) for run, each in zip(runs, found, strict=True)]


def _entered(runs: Sequence[Run], turns: Sequence[Slices]) -> list[Counter[int]]:
    """Of each case: in how many of its slices messages of which other one came."""
    order = sorted(
        (begin_ns, number, index)
        for number, slices in enumerate(turns)
        for index, begin_ns in enumerate(slices.begins_ns)
    )
    entered: list[Counter[int]] = [Counter() for _ in runs]
    last_ns, whose = 0.0, 0
    for begin_ns, number, index in order:
        if last_ns > begin_ns and whose != number:
            entered[number][whose] += 1
        late_us = runs[number].slices.get(LATE_US)
        if late_us is None:
            continue
        ends_ns = begin_ns + turns[number].slice_ns + (late_us[index] or 0) * 1e3
        if ends_ns > last_ns:
            last_ns, whose = ends_ns, number
    return entered


def _warned(run: Run, entered: Counter[int], runs: Sequence[Run]) -> Run:
    slices, among = sum(entered.values()), run.counters.get("slices")
    if not among or slices <= _MOST_ENTERED * among:
        return run
    ((whose, _),) = entered.most_common(1)
    message = (
        f"in {slices} of {among} slices messages of another case still came, most often of "
        f"{runs[whose].case_id}: leave that out, lower the rate, or let each run alone (--lone)"
    )
    warning = Warning("slices_entered", message, _EVERY_FIGURE)
    return replace(run, warnings=(*run.warnings, warning))
