"""Why a comparison gets no verdict, whatever its interval says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from claim.grid import Cell
from claim.judging.samples import LATENCIES, Samples
from claim.runs import FigureName
from tinygram_bench.links.spec import parse_link
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.statistics.figures.modes import find_modes

MOST_BEHIND_NS = 1_000_000
"""By then the last message of a slice has come, but for what is meant to be held, and the link."""
MOST_SPOILT = 0.25
"""Share of a strategy's rounds."""
_SPOILT = {
    "late link": frozenset(("link_late", "link_slow", "link_stopped")),
    "reached into": frozenset(("slices_entered",)),
}

Doubt = Literal["failed", "late link", "reached into", "cannot keep up", "overloaded", "two modes"]
"""`failed`: a run of ours. `late link`, `reached into`: too many rounds of ours or of the rival;
others' messages came in its slices. `cannot keep up`: ours alone; `overloaded`: the rival, or
both."""
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
    if figure in LATENCIES:
        if is_overloaded(samples, number, cell, rival):
            return "overloaded"
        if is_overloaded(samples, number, cell, ours):
            return "cannot keep up"
        for doubt in ("late link", "reached into"):
            if any(_is_spoilt(samples, number, name, doubt) for name in (ours, rival)):
                return doubt
    return "two modes" if find_modes(ratios) else None


def _is_spoilt(samples: Samples, number: int, strategy: str, doubt: str) -> bool:
    runs = samples.of_strategy(number, strategy)
    spoilt = sum(not _SPOILT[doubt].isdisjoint(run.warnings) for run in runs)
    return spoilt > MOST_SPOILT * len(runs)


def is_overloaded(samples: Samples, number: int, cell: Cell, strategy: str) -> bool:
    """Whether the strategy cannot keep up with the cell's rate: it ends after its slices."""
    if cell.rate_per_s is None:
        return False
    late_ns = samples.median(number, strategy, lambda run: run.late_ns)
    meant_ns = (parse_strategy(strategy).duration_ns or 0) + parse_link(cell.link).rtt_ns
    return late_ns is not None and late_ns > MOST_BEHIND_NS + meant_ns
