"""The parts of docs/claim.md that a result fills: its table and goals, and the first line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace
from published.claim import loopback

from claim.grid import OURS
from claim.judging.compare import LARGE_LOSS, MARGIN
from claim.judging.judge import Count, count_figures
from claim.page.goals import count_of, goals_of, holds
from claim.page.longer import measured_again
from claim.page.wording import percent
from claim.result import ClaimResult, is_whole, runtimes_of


@dataclass(frozen=True)
class Kind:
    """What was measured."""

    grid: str
    set: str
    has_longer_slices: bool = False

    def __str__(self) -> str:
        slices = " in longer slices" if self.has_longer_slices else ""
        return f"grid {self.grid!r} and set {self.set!r}{slices}"


PARTS = {
    Kind("full", "confirm"): "confirmed",
    Kind("links", "confirm"): "links",
    Kind("full", "slices", has_longer_slices=True): "slices",
    Kind("full", "slices"): "slices-control",
}
"""Kind → the part of docs/claim.md that has it."""


def kind_of(result: ClaimResult) -> Kind:
    return Kind(result.grid, result.set.name, result.slice_ms is not None)


def summary(result: ClaimResult) -> str:
    """What the grid has come to: the answer, what decides how many cells, and each goal."""
    goals = goals_of(result)
    rows = [
        "| runtime | cells | held by the clock | held by counts | lost by the clock "
        "| lost by counts | undecided | largest regret |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
        *(_row(runtime, _of_runtime(result, runtime), result) for runtime in runtimes_of(result)),
        _row(None, count_of(result), result),
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
    part = PARTS.get(kind_of(result))
    if part in ("slices", "slices-control"):
        yield part, measured_again(result, loopback().lost_cells)
    elif part is not None:
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


def _of_runtime(result: ClaimResult, runtime: str) -> Count:
    cells = {number for number, cell in enumerate(result.cells) if cell.runtime == runtime}
    deciding = [v for v in result.judged.verdicts if v.is_deciding and v.cell in cells]
    counted = count_figures(deciding)
    return replace(counted, undecided=counted.undecided + len(cells) - len(deciding))


def _row(runtime: str | None, count: Count, result: ClaimResult) -> str:
    """A line of the table; `runtime` None: all of them."""
    (regret,) = [
        each.regret
        for each in result.judged.worst
        if each.strategy == OURS and each.runtime == runtime
    ] or [None]
    cells = (
        runtime or "all",
        count.all,
        count.held - count.held_by_counts,
        count.held_by_counts,
        count.lost - count.lost_by_counts,
        count.lost_by_counts,
        f"{count.undecided} ({percent(count.undecided / max(1, count.all))})",
        "" if regret is None else percent(regret),
    )
    return f"| {' | '.join(map(str, cells))} |"


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
