"""What the claim asks for, and whether the result reaches it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from claim.grid import OURS
from claim.judging.compare import LARGE_LOSS, MARGIN
from claim.judging.judge import Count, Verdict, count_cells
from claim.judging.regret import best_single, worst_everywhere
from claim.page.wording import percent
from claim.result import ClaimResult, is_whole

MOST_LOST = 0.05
MOST_UNDECIDED = 0.10
MOST_REGRET = 0.1
"""The share of the best single fixed strategy's worst regret that ours may reach."""


@dataclass(frozen=True)
class Goal:
    """One thing that the claim asks for."""

    text: str
    found: str
    is_met: bool


def count_of(result: ClaimResult) -> Count:
    """The cells that hold and that are lost."""
    return count_cells(result.cells, result.judged.verdicts)


def goals_of(result: ClaimResult) -> list[Goal]:
    """Every goal; one that nothing was measured for is not met."""
    count = count_of(result)
    has_any = bool(result.judged.verdicts)
    return [
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
        _regret_goal(result),
    ]


def holds(result: ClaimResult) -> bool:
    """Whether the claim does: the whole grid, and every goal."""
    return is_whole(result) and all(goal.is_met for goal in goals_of(result))


def _regret_goal(result: ClaimResult) -> Goal:
    largest = worst_everywhere(result.judged.worst)
    single = best_single(largest)
    text = f"worst regret: at most {percent(MOST_REGRET)} of the best single strategy's"
    if single is None or OURS not in largest:
        return Goal(text, "not measured", False)
    beyond = next(
        (each.beyond for each in result.judged.worst if each.strategy == OURS and not each.runtime),
        None,
    )
    shown = "none" if beyond is None else percent(beyond)
    return Goal(
        text,
        f"{percent(largest[OURS])} by the estimate, {shown} where the whole interval is beyond "
        f"{percent(MARGIN)}, against {percent(largest[single])} of {single}",
        largest[OURS] <= MOST_REGRET * largest[single],
    )


def lost_first(verdicts: Iterable[Verdict]) -> Sequence[Verdict]:
    """The lost cells, the largest loss first."""
    lost = [each for each in verdicts if each.is_deciding and each.outcome == "lost"]
    return sorted(lost, key=lambda verdict: -verdict.ratio.median)
