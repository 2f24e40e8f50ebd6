"""What the claim asks for, and whether the result reaches it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from claim.grid import OURS
from claim.judging.judge import Count, Verdict, count_cells
from claim.judging.margins import LARGE_LOSS
from claim.judging.picks import DECIDING, Reading
from claim.judging.regret import best_single, worst_in
from claim.judging.samples import FigureName
from claim.page.wording import SHOWN, percent
from claim.result import ClaimResult, figures_in, is_whole

MOST_LOST = 0.05
MOST_UNDECIDED = 0.20
MOST_REGRET = 0.1
"""The share of the best single fixed strategy's worst regret that ours may reach."""


@dataclass(frozen=True)
class Goal:
    """One thing that the claim asks for."""

    text: str
    found: str
    is_met: bool


def count_of(result: ClaimResult, reading: Reading) -> Count:
    """The cells that hold and that are lost."""
    return count_cells(result.cells, result.judged.verdicts[reading])


def goals_of(result: ClaimResult, reading: Reading) -> list[Goal]:
    """Every goal; one that nothing was measured for is not met."""
    count = count_of(result, reading)
    has_any = bool(result.judged.verdicts[reading])
    goals = [
        Goal(
            f"no cell worse by more than {percent(LARGE_LOSS)}",
            f"{count.large} by the estimate, {count.shown_large} by the whole interval",
            has_any and count.large == 0,
        ),
        Goal(
            f"at most {percent(MOST_LOST)} of the cells lost",
            f"{count.lost} of {count.all} ({percent(count.lost / max(1, count.all))})",
            has_any and count.lost <= MOST_LOST * count.all,
        ),
        Goal(
            f"at most {percent(MOST_UNDECIDED)} undecided",
            f"{count.undecided} of {count.all} ({percent(count.undecided / max(1, count.all))})",
            has_any and count.undecided <= MOST_UNDECIDED * count.all,
        ),
    ]
    if reading == DECIDING:
        return [*goals, _regret_goal(result, ("sum",), SHOWN["sum"])]
    figures = figures_in(result)
    goals += [_regret_goal(result, (figure,), SHOWN[figure]) for figure in figures]
    return [*goals, _regret_goal(result, figures, "all figures")]


def holds(result: ClaimResult) -> bool:
    """Whether the claim does: the whole grid, and every goal of the reading that decides."""
    return is_whole(result) and all(goal.is_met for goal in goals_of(result, DECIDING))


def _regret_goal(result: ClaimResult, figures: Sequence[FigureName], what: str) -> Goal:
    largest = worst_in(result.judged.worst, figures)
    single = best_single(largest)
    text = f"worst regret, {what}: at most {percent(MOST_REGRET)} of the best single one's"
    if single is None or OURS not in largest:
        return Goal(text, "not measured", False)
    return Goal(
        text,
        f"{percent(largest[OURS])} against {percent(largest[single])} of {single}",
        largest[OURS] <= MOST_REGRET * largest[single],
    )


def lost_first(verdicts: Iterable[Verdict]) -> Sequence[Verdict]:
    """The lost ones, the largest loss first."""
    lost = [verdict for verdict in verdicts if verdict.outcome == "lost"]
    return sorted(lost, key=lambda verdict: -verdict.ratio.median)
