"""What the claim asks for, and whether the result reaches it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from claim.grid import OURS
from claim.judge import LARGE_LOSS, Outcome, Verdict
from claim.regret import best_overall, best_single
from claim.result import ClaimResult
from claim.samples import FIGURES, FigureName, figures_of

MOST_LOST = 0.05
MOST_UNDECIDED = 0.20
MOST_REGRET = 0.1
"""Of the best single fixed strategy's worst regret."""
SHOWN = {"p50": "p50", "p99": "p99", "cpu": "CPU", "throughput": "throughput"}


@dataclass(frozen=True)
class Count:
    """How often `adaptive` held, lost, lost by much, or is undecided."""

    held: int
    lost: int
    undecided: int
    large: int
    blurred: int

    @property
    def all(self) -> int:
        """Of so many comparisons."""
        return self.held + self.lost + self.undecided


@dataclass(frozen=True)
class Goal:
    """One thing that the claim asks for."""

    text: str
    found: str
    is_met: bool


def percent(share: float) -> str:
    """`5 %`, `0.4 %`."""
    number = 100 * share
    is_whole = abs(number) >= 10 or number == round(number)
    return f"{number:,.0f} %" if is_whole else f"{number:.1f} %"


def count_of(verdicts: Iterable[Verdict]) -> Count:
    """Count verdicts."""
    verdicts = list(verdicts)
    outcomes: Counter[Outcome] = Counter(verdict.outcome for verdict in verdicts)
    return Count(
        held=outcomes["held"],
        lost=outcomes["lost"],
        undecided=outcomes["undecided"],
        large=sum(verdict.is_large for verdict in verdicts),
        blurred=sum(verdict.is_blurred for verdict in verdicts),
    )


def of_figure(verdicts: Iterable[Verdict], figure: FigureName) -> list[Verdict]:
    """Those of one figure."""
    return [verdict for verdict in verdicts if verdict.figure == figure]


def figures_in(result: ClaimResult) -> list[FigureName]:
    """The figures that the grid has, in the order of the tables."""
    there = {figure for cell in result.cells for figure in figures_of(cell)}
    return [figure for figure in FIGURES if figure in there]


def unmeasured(result: ClaimResult) -> int:
    """Comparisons that the grid has and the runs do not support."""
    asked = sum(len(figures_of(cell)) for cell in result.cells)
    return asked - len(result.judged.verdicts)


def goals_of(result: ClaimResult) -> list[Goal]:
    """Every goal; one that nothing was measured for is not met."""
    count = count_of(result.judged.verdicts)
    missing = unmeasured(result)
    whole = max(1, count.all + missing)
    unknown = count.undecided + missing
    goals = [
        Goal(
            f"no comparison lost by more than {percent(LARGE_LOSS)}",
            f"{count.large} of {whole}",
            count.all > 0 and count.large == 0,
        ),
        Goal(
            f"at most {percent(MOST_LOST)} lost",
            f"{count.lost} of {whole} ({percent(count.lost / whole)})",
            count.all > 0 and count.lost <= MOST_LOST * whole,
        ),
        Goal(
            f"at most {percent(MOST_UNDECIDED)} undecided",
            f"{unknown} of {whole} ({percent(unknown / whole)})",
            count.all > 0 and unknown <= MOST_UNDECIDED * whole,
        ),
    ]
    goals += [goal for figure in figures_in(result) if (goal := _regret_goal(result, figure))]
    overall = _overall_goal(result)
    return goals + ([overall] if overall else [])


def holds(result: ClaimResult) -> bool:
    """Whether every goal is met."""
    return all(goal.is_met for goal in goals_of(result))


def _regret_goal(result: ClaimResult, figure: FigureName) -> Goal | None:
    worst = result.judged.worst
    single = best_single(worst, figure)
    ours = next((w for w in worst if w.figure == figure and w.strategy == OURS), None)
    if single is None or ours is None:
        return None
    return _asked_regret(SHOWN[figure], ours.regret, single.strategy, single.regret)


def _overall_goal(result: ClaimResult) -> Goal | None:
    fixed = best_overall(result.judged.worst)
    ours = [worst.regret for worst in result.judged.worst if worst.strategy == OURS]
    if fixed is None or not ours:
        return None
    return _asked_regret("all figures", max(ours), *fixed)


def _asked_regret(what: str, ours: float, single: str, regret: float) -> Goal:
    return Goal(
        f"worst regret, {what}: at most a tenth of the best single fixed strategy's",
        f"{percent(ours)} against {percent(regret)} of {single}",
        ours <= MOST_REGRET * regret,
    )


def lost_first(verdicts: Iterable[Verdict]) -> Sequence[Verdict]:
    """The lost ones, the largest loss first."""
    lost = [verdict for verdict in verdicts if verdict.outcome == "lost"]
    return sorted(lost, key=lambda verdict: -verdict.ratio.median)
