"""Why a comparison gets no verdict, whatever its interval says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from claim.grid import Cell
from claim.judging.samples import LATENCIES, FigureName, Samples
from claim.runs import Measured
from tinygram_bench.statistics.figures.modes import find_modes
from tinygram_bench.statistics.verdicts.doubts import MAX_PACING_ERROR_SHARE

MOST_BEHIND = 0.05
"""Share of a run's duration."""
LEAST_BEHIND_NS = 2_000_000

MOST_LATE = 0.25
"""Share of a strategy's runs that were over a late link."""
_LATE = frozenset(("link_late", "link_slow", "link_stopped"))

Doubt = Literal["failed", "late link", "cannot keep up", "overloaded", "two modes"]
"""`failed`: a run of ours. `late link`: too many runs of ours or of the rival. `cannot keep up`:
ours alone; `overloaded`: the rival, or both."""
STILL_LOST: tuple[Doubt | None, ...] = (None, "failed", "cannot keep up", "two modes")
"""Ours may lose all the same: where all of the interval is beyond the margin, both modes are."""


def doubt_of(
    samples: Samples,
    number: int,
    cell: Cell,
    figure: FigureName,
    ours: str,
    rival: str,
    ratios: Sequence[float],
) -> Doubt | None:
    """Why no verdict can be given; None where one can.

    Modes are looked for in the `ratios`, round by round, which are what is compared: what moves
    both strategies of a round, as its arrivals do, is not in them.
    """
    if samples.has_failed(number, ours):
        return "failed"
    if any(_has_late_link(samples, number, strategy) for strategy in (ours, rival)):
        return "late link"
    if figure in LATENCIES:
        if is_overloaded(samples, number, cell, rival):
            return "overloaded"
        if is_overloaded(samples, number, cell, ours):
            return "cannot keep up"
    return "two modes" if find_modes(ratios) else None


def _has_late_link(samples: Samples, number: int, strategy: str) -> bool:
    runs = samples.of_strategy(number, strategy)
    late = sum(not _LATE.isdisjoint(run.warnings) for run in runs)
    return late > MOST_LATE * len(runs)


def is_overloaded(samples: Samples, number: int, cell: Cell, strategy: str) -> bool:
    """Whether the strategy cannot keep up with the cell's rate: it ends ever later.

    What it means to hold the last message counts as late, too: at most 1 ms here.
    """
    if cell.rate_per_s is None:
        return False
    behind_ns = samples.median(number, strategy, lambda run: run.behind_ns)
    return behind_ns is not None and behind_ns > max(
        LEAST_BEHIND_NS, MOST_BEHIND * cell.duration_ns
    )


def is_blurred(samples: Samples, number: int, strategy: str, figure: FigureName) -> bool:
    """Whether what the pacer was late is over a quarter of a latency that has it in it."""
    if figure not in LATENCIES:
        return False

    def share(run: Measured) -> float | None:
        pacing, latency = run.pacing_p50_ns, run.gross_p50_ns
        if figure == "p99":
            pacing, latency = run.pacing_p99_ns, run.gross_p99_ns
        return None if pacing is None or not latency else pacing / latency

    found = samples.median(number, strategy, share)
    return found is not None and found > MAX_PACING_ERROR_SHARE
