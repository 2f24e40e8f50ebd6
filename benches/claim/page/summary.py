"""The parts of docs/claim.md that a result fills: its table and goals, and the first line."""

from __future__ import annotations

from collections.abc import Iterator

from claim.grid import OURS
from claim.judging.compare import LARGE_LOSS, MARGIN
from claim.judging.judge import Count
from claim.page.goals import count_of, goals_of, holds
from claim.page.wording import percent
from claim.result import ClaimResult, is_whole

_PARTS = {
    ("full", "tuning"): "loopback",
    ("full", "confirm"): "confirmed",
    ("full", "tuning", "threads"): "threads",
}
"""Grid, set, and the runtime if it is a single one → the part of docs/claim.md that has them."""


def summary(result: ClaimResult) -> str:
    """What the grid has come to: the answer, what decides how many cells, and each goal."""
    count = count_of(result)
    goals = goals_of(result)
    rows = [
        "| cells | held by the clock | held by counts | lost by the clock | lost by counts "
        "| undecided |",
        "|--:|--:|--:|--:|--:|--:|",
        f"| {count.all} | {' | '.join(map(str, _decided(count)))} | {count.undecided} "
        f"({percent(count.undecided / max(1, count.all))}) |",
    ]
    said = [
        f"- {goal.text}: {goal.found}; **{'met' if goal.is_met else 'not met'}**" for goal in goals
    ]
    begun = result.started_at.partition("T")[0]
    return "\n".join(
        [
            f"**It {_word(result)}** (grid *{result.grid}*, set *{result.set.name}*, {begun}): "
            f"{sum(goal.is_met for goal in goals)} of {len(goals)} goals met.\n",
            *rows,
            "",
            *said,
            _standing(result),
        ]
    )


def parts(result: ClaimResult) -> Iterator[tuple[str, str]]:
    """Each part of docs/claim.md that this result fills (`pages.fill`), and its text."""
    runtimes = {cell.runtime for cell in result.cells}
    key = (result.grid, result.set.name, *(runtimes if len(runtimes) == 1 else ()))
    part = _PARTS.get(key, result.grid)
    yield part, summary(result)
    if part == "confirmed" and is_whole(result):
        yield "answer", _answer(result)


def _answer(result: ClaimResult) -> str:
    """The page's first line: of the set that nothing had been tuned with when it was measured."""
    count = count_of(result)
    goals = goals_of(result)
    met = sum(goal.is_met for goal in goals)
    begun = result.started_at.partition("T")[0]
    return (
        f"**It {_word(result)}**: of {count.all} cells over loopback `adaptive` held {count.held}, "
        f"lost {count.lost}, and {count.undecided} are undecided; goals met: {met} of {len(goals)} "
        f"(seeds and sizes that nothing had been tuned with until then, {begun})."
    )


def _word(result: ClaimResult) -> str:
    if not is_whole(result):
        return "is not shown either way: a part was measured"
    return "holds" if holds(result) else "does not hold"


def _decided(count: Count) -> tuple[int, int, int, int]:
    return (
        count.held - count.held_by_counts,
        count.held_by_counts,
        count.lost - count.lost_by_counts,
        count.lost_by_counts,
    )


def _standing(result: ClaimResult) -> str:
    """By the estimate alone, beside the fixed strategy that loses the fewest."""
    standing = {each.strategy: each for each in result.judged.standings}
    ours = standing.pop(OURS, None)
    if ours is None or not standing:
        return ""
    best = min(standing.values(), key=lambda each: each.over_margin)
    return (
        f"- by the estimate alone, which takes noise for loss: over {percent(MARGIN)} worse in "
        f"{ours.over_margin} cells and over {percent(LARGE_LOSS)} in {ours.over_large}; "
        f"{best.strategy}, the best of the fixed ones, in {best.over_margin} and {best.over_large}"
    )
