"""Why a comparison is lost: what the winner does otherwise, and what it pays, from the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from claim.grid import OURS
from claim.judging.compare import MARGIN, compared
from claim.judging.judge import Verdict
from claim.judging.samples import Samples, figures_of
from claim.result import ClaimResult
from claim.runs import FigureName
from tinygram_bench.model.result import Figure

_MORE = 1.2
"""Writes differ when one strategy makes so many times as many."""


@dataclass(frozen=True)
class Profile:
    """Medians of a strategy in a cell; None where not known."""

    writes_per_message: float | None
    hold_ns: float | None

    @staticmethod
    def of(samples: Samples, cell: int, strategy: str) -> Profile:
        """What the runs say."""
        return Profile(
            samples.median(cell, strategy, lambda run: run.writes_per_message),
            samples.median(cell, strategy, lambda run: run.hold_mean_ns),
        )


def paid_elsewhere(
    result: ClaimResult, samples: Samples, verdict: Verdict
) -> list[tuple[FigureName, Figure]]:
    """The other figures of the cell in which the winner is worse, and its cost ÷ ours.

    Worse: the whole interval is beyond the margin. Empty: it wins for nothing that these runs show.
    """
    paid: list[tuple[FigureName, Figure]] = []
    for figure in figures_of(result.cells[verdict.cell]):
        ratio = compared(samples.ratios(verdict.cell, verdict.rival, OURS, figure))
        if figure != verdict.figure and ratio is not None and ratio.low > 1 + MARGIN:
            paid.append((figure, ratio))
    return paid


def reason_of(verdict: Verdict, ours: Profile, theirs: Profile) -> str:
    """One of a few reasons, by rule, from the medians."""
    if verdict.doubt == "cannot keep up":
        return "adaptive cannot keep up with the rate"
    writes, less = ours.writes_per_message, theirs.writes_per_message
    has_more = writes is not None and less is not None and writes > _MORE * less
    if verdict.figure in ("cpu", "throughput"):
        if has_more:
            how = "holds longer" if verdict.rival.startswith("coalesce") else "gathers more"
            return f"the winner {how} and makes fewer writes"
        if writes is not None and less is not None and writes < less / _MORE:
            return "adaptive makes fewer writes, and its decisions cost more than they save"
        return "as many writes: adaptive's decisions cost more"
    if ours.hold_ns and (theirs.hold_ns or 0) < ours.hold_ns:
        return "adaptive holds longer"
    return "more writes keep the sender busy" if has_more else "as many writes and no longer hold"


def reasons_of(samples: Samples, verdicts: Sequence[Verdict]) -> Counter[str]:
    """Reason → how many of the lost cells."""
    return Counter(
        reason_of(
            verdict,
            Profile.of(samples, verdict.cell, OURS),
            Profile.of(samples, verdict.cell, verdict.rival),
        )
        for verdict in verdicts
    )


def facts_of(ours: Profile, theirs: Profile) -> str:
    """What was measured of both: `0.73 writes a message against 0.02, held 12 µs against 1,003`."""
    parts = []
    if ours.writes_per_message is not None and theirs.writes_per_message is not None:
        each = f"{ours.writes_per_message:.3g} writes a message"
        parts.append(f"{each} against {theirs.writes_per_message:.3g}")
    held = [_us(profile.hold_ns) for profile in (ours, theirs)]
    if held != ["0", "0"]:
        parts.append(f"held {held[0]} µs against {held[1]}")
    return ", ".join(parts)


def _us(ns: float | None) -> str:
    return "0" if not ns else f"{ns / 1_000:,.1f}" if ns < 100_000 else f"{ns / 1_000:,.0f}"
