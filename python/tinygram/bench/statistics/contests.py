"""Contests: which strategy came first on each runtime under each load.

The winner is picked on the very rounds that it is judged by, so being first proves nothing: what
counts is its paired verdict against every other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinygram.bench.result import Case, Figure, Summary
from tinygram.bench.statistics.figures import is_higher_better
from tinygram.bench.statistics.loads import Load, is_faulty, is_limit
from tinygram.bench.statistics.sizes import COMPARED_FIGURES

FLAT_OUT_FIGURES = (
    "throughput_per_s",
    "run_time_s",
    "queueing_mean_us",
    "queueing_p99_us",
    "queueing_p99_99_us",
)
PACED_FIGURES = ("latency_p50_us", "latency_p99_us", "cpu_s_per_million")
CLOSED_LOOP_FIGURES = (
    "throughput_per_s",
    "round_trip_p50_us",
    "round_trip_p99_us",
    "cpu_s_per_million",
)


@dataclass(frozen=True)
class Contest:
    """The cases of one runtime under one load, the best first; those without a figure left out."""

    load: Load
    runtime: str
    figure: str
    ranked: tuple[Case, ...]

    @property
    def others(self) -> tuple[Case, ...]:
        """All but the first, which has won only if it is faster than each of them."""
        return self.ranked[1:]


def compared_figures(load: Load) -> tuple[str, ...]:
    """The figures that verdicts are given on; the first is the one that contests are won by."""
    if load.is_closed_loop:
        return CLOSED_LOOP_FIGURES
    if load.workload == "sizes":
        return COMPARED_FIGURES
    return FLAT_OUT_FIGURES if load.is_flat_out else PACED_FIGURES


def contests_of(summaries: Sequence[Summary]) -> tuple[Contest, ...]:
    """A contest per load and runtime, in order of first appearance, limits and faults left out."""
    groups: dict[tuple[Load, str], list[Summary]] = {}
    for summary in summaries:
        if not (is_limit(summary.case) or is_faulty(summary.case)):
            key = (Load.of(summary.case), summary.case.runtime)
            groups.setdefault(key, []).append(summary)
    return tuple(_contest(load, runtime, group) for (load, runtime), group in groups.items())


def _contest(load: Load, runtime: str, summaries: Sequence[Summary]) -> Contest:
    figure = compared_figures(load)[0]
    measured = [(found, each.case) for each in summaries if (found := each.figures.get(figure))]

    def rank(entry: tuple[Figure, Case]) -> float:
        return -entry[0].median if is_higher_better(figure) else entry[0].median

    return Contest(load, runtime, figure, tuple(case for _, case in sorted(measured, key=rank)))
