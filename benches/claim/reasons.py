"""Why a comparison is lost: what the winner does otherwise, and what it pays, from the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from claim.grid import OURS
from claim.judge import Verdict
from claim.result import ClaimResult
from claim.samples import FigureName, Samples, figures_of


@dataclass(frozen=True)
class Profile:
    """Medians of a strategy in a cell; times in ns, None where not known."""

    writes_per_message: float | None
    hold_ns: float | None
    p50_ns: float | None
    p99_ns: float | None
    cpu_ns: float | None

    @staticmethod
    def of(samples: Samples, cell: int, strategy: str) -> Profile:
        """What the runs say."""

        def middle(figure: FigureName) -> float | None:
            costs = sorted(samples.costs(cell, strategy, figure).values())
            return costs[len(costs) // 2] if costs else None

        return Profile(
            samples.median(
                cell, strategy, lambda r: None if r.writes is None else r.writes / r.messages
            ),
            samples.median(cell, strategy, lambda run: run.hold_mean_ns),
            middle("p50"),
            middle("p99"),
            middle("cpu"),
        )


def paid_elsewhere(result: ClaimResult, verdict: Verdict) -> list[tuple[FigureName, float]]:
    """The other figures of the cell in which the winner is worse, and its cost ÷ ours.

    Worse: by more than the verdict's margin, by the medians. Empty: it wins for nothing.
    """
    cost = {
        (regret.figure, regret.strategy): regret.cost_ns
        for regret in result.judged.regrets
        if regret.cell == verdict.cell
    }
    paid: list[tuple[FigureName, float]] = []
    for figure in figures_of(result.cells[verdict.cell]):
        if figure == verdict.figure:
            continue
        theirs, ours = cost.get((figure, verdict.best)), cost.get((figure, OURS))
        if theirs is not None and ours and theirs / ours > 1 + verdict.margin:
            paid.append((figure, theirs / ours))
    return paid


def kind_of(verdict: Verdict, ours: Profile, theirs: Profile) -> str:
    """One of a few reasons, by rule, from the medians."""
    name = verdict.best
    if OURS in verdict.overloaded:
        return "adaptive cannot keep up with the rate"
    writes, less = ours.writes_per_message, theirs.writes_per_message
    if verdict.figure in ("cpu", "throughput"):
        if writes is not None and less is not None and writes > 1.2 * less:
            how = "holds longer" if name.startswith("coalesce") else "gathers more"
            return f"the winner {how} and makes fewer writes"
        if writes is not None and less is not None and writes < less / 1.2:
            return "adaptive makes fewer writes, and its decisions cost more than they save"
        return "as many writes: adaptive's decisions cost more"
    if ours.hold_ns and (theirs.hold_ns or 0) < ours.hold_ns:
        return "adaptive holds longer"
    if writes is not None and less is not None and writes > 1.2 * less:
        return "more writes keep the sender busy"
    return "as many writes and no longer hold"


def kinds_of(result: ClaimResult, verdicts: Sequence[Verdict]) -> Counter[tuple[str, str]]:
    """(figure, reason) → how many of the lost comparisons."""
    samples = Samples.of(result.runs)
    counts: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        counts[verdict.figure, _kind(samples, verdict)] += 1
    return counts


def _kind(samples: Samples, verdict: Verdict) -> str:
    ours = Profile.of(samples, verdict.cell, OURS)
    theirs = Profile.of(samples, verdict.cell, verdict.best)
    return kind_of(verdict, ours, theirs)


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
