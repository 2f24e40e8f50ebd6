"""Held, lost or undecided: ours beside the fixed strategy that is the best of a cell.

A figure is lost when it is lost to the best one in the rounds that compare, and held when it is
held, over all rounds, against each that the rounds that pick do not show to be worse: that is an
intersection-union test, whose error needs no correction. What luck in picking can do to it is to
leave the best one out as worse than another, as the rounds that pick may by their own error.
Where the clock leaves the figure that decides a cell undecided, counts may decide it by the same
rule, either way, unless the clock contradicts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from claim.grid import OURS, Cell
from claim.judging.compare import (
    LARGE_LOSS,
    LOOKS,
    MARGIN,
    Outcome,
    compared,
    looked_at,
    of_all,
    outcome_of,
)
from claim.judging.counts import KERNEL_HOLDS, LEAST_RATIO, is_bounded, predicted
from claim.judging.doubts import STILL_LOST, Doubt, doubt_of
from claim.judging.picks import near_best, picking_figure
from claim.judging.samples import Samples, figures_of
from claim.runs import FigureName
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value


class Verdict(Value, frozen=True):
    """How ours compares in one figure of one cell.

    `is_deciding`: whether the cell is decided by this figure. `rivals`: all that it must be held
    against, the best one first; `ratio`: the cost ÷ the best one's over all rounds, or in those
    that compare if it is lost by them; `rounds`: how many rounds have both, those that pick among
    them. `is_large`: worse, and by
    more than LARGE_LOSS by the estimate; `is_shown_large`: by the whole interval. `by_clock`: what
    the clock says. `by_counts`: what counts say of the figure that decides a cell (counts.py), and
    `counted`: the ratio to the best one that they predict; None: nothing. `last_round`: the last
    that both had.
    """

    cell: int
    figure: FigureName
    is_deciding: bool
    rivals: tuple[str, ...]
    ratio: Figure
    rounds: int
    by_clock: Outcome
    doubt: Doubt | None
    is_large: bool
    is_shown_large: bool
    by_counts: Outcome = "undecided"
    counted: Figure | None = None
    last_round: int = 0

    @property
    def rival(self) -> str:
        return self.rivals[0]

    @property
    def outcome(self) -> Outcome:
        """What is said: by the clock, or where that cannot say by counts."""
        return self.by_counts if self.is_by_counts else self.by_clock

    @property
    def is_by_counts(self) -> bool:
        """Whether counts decide it, where the clock cannot say."""
        return self.by_clock == "undecided" and self.by_counts != "undecided"

    @property
    def lacking(self) -> float:
        """By how much the interval of an undecided verdict is too wide, of clock or counts."""
        told = (self.ratio, self.counted or self.ratio)
        return min(
            each.high / (1 + MARGIN)
            if each.median <= 1 + MARGIN
            else (1 + MARGIN) / max(each.low, LEAST_RATIO)
            for each in told
        )

    @property
    def may_be_decided(self) -> bool:
        """Whether more rounds may change an undecided verdict."""
        is_open = self.is_deciding and self.outcome == "undecided" and self.doubt is None
        return is_open and self.last_round < LOOKS[-1]


def verdicts_of(cells: Sequence[Cell], samples: Samples) -> tuple[Verdict, ...]:
    """Ours in every figure of every cell that has been measured."""
    verdicts = []
    for number, cell in enumerate(cells):
        rivals = near_best(samples, number, cell)
        deciding = picking_figure(samples, number, cell)
        for figure in figures_of(cell):
            verdict = _verdict(samples, number, cell, figure, rivals, figure == deciding)
            if verdict is not None:
                verdicts.append(verdict)
    return tuple(verdicts)


def _verdict(
    samples: Samples,
    number: int,
    cell: Cell,
    figure: FigureName,
    rivals: Sequence[str],
    is_deciding: bool,
) -> Verdict | None:
    ratios: dict[str, Figure] = {}
    doubts: dict[str, Doubt | None] = {}
    for name in rivals:
        by_round = samples.ratios(number, OURS, name, figure)
        ratio = of_all(by_round)
        if ratio is not None and compared(by_round) is not None:
            ratios[name] = ratio
            used = looked_at(by_round)
            doubts[name] = doubt_of(samples, number, cell, figure, OURS, name, used)
    if not ratios or rivals[0] not in ratios:
        return None
    doubt = doubts[rivals[0]]
    is_known = doubt in STILL_LOST
    by_best = samples.ratios(number, OURS, rivals[0], figure)
    against_best = compared(by_best)
    assert against_best is not None, "it is among the ratios"
    outcome = _outcome(rivals, ratios, doubts, against_best)
    ratio = against_best if outcome == "lost" else ratios[rivals[0]]
    countable = [
        name for name in ratios if is_deciding and figure == "sum" and doubts[name] is None
    ]
    counted = {name: predicted(samples, number, cell, OURS, name, of_all) for name in countable}
    best = (
        predicted(samples, number, cell, OURS, rivals[0], compared)
        if rivals[0] in countable
        else None
    )
    by_counts = _by_counts(rivals, counted, (best, against_best), ratios, doubts)
    best = best if by_counts == "lost" else counted.get(rivals[0])
    is_counted_worse = by_counts == "lost" and outcome == "undecided"
    return Verdict(
        cell=number,
        figure=figure,
        is_deciding=is_deciding,
        rivals=tuple(rivals),
        ratio=ratio,
        rounds=len(looked_at(by_best)),
        by_clock=outcome,
        doubt=doubt,
        is_large=(is_known and ratio.low > 1 and ratio.median > 1 + LARGE_LOSS)
        or (is_counted_worse and best is not None and best.median > 1 + LARGE_LOSS),
        is_shown_large=(is_known and ratio.low > 1 + LARGE_LOSS)
        or (is_counted_worse and best is not None and best.low > 1 + LARGE_LOSS),
        by_counts=by_counts,
        counted=best,
        last_round=max(by_best),
    )


def _by_counts(
    rivals: Sequence[str],
    counted: Mapping[str, Figure | None],
    of_best: tuple[Figure | None, Figure],
    ratios: Mapping[str, Figure],
    doubts: Mapping[str, Doubt | None],
) -> Outcome:
    """What counts say: *held* against each rival, by the clock or by them; *lost* to the best one.

    `counted`: what they predict of all rounds, and `ratios`: what the clock says of these.
    `of_best`: both of the best one, in the rounds that compare.

    Of a rival of which the clock says the contrary, wholly on the other side of 1, or wholly beside
    what is predicted, they say nothing. What the kernel holds is not counted: that rival can cost
    more than predicted, never less, so that ours may be held against it, and nothing is lost to it.
    """

    def by_counts(name: str, found: Figure | None, ratio: Figure) -> Outcome:
        if found is None or not is_bounded(found) or not is_bounded(ratio):
            return "undecided"
        if found.high < ratio.low or ratio.high < found.low:
            return "undecided"
        outcome = outcome_of(found)
        if outcome == "held" and ratio.low <= 1:
            return "held"
        if outcome == "lost" and ratio.high >= 1 and name != KERNEL_HOLDS:
            return "lost"
        return "undecided"

    if not counted:
        return "undecided"
    if by_counts(rivals[0], *of_best) == "lost":
        return "lost"
    is_held = all(
        name in ratios
        and (
            _is_held(ratios[name], doubts[name])
            or by_counts(name, counted.get(name), ratios[name]) == "held"
        )
        for name in rivals
    )
    return "held" if is_held else "undecided"


def _is_held(ratio: Figure, doubt: Doubt | None) -> bool:
    return doubt is None and outcome_of(ratio) == "held"


def _outcome(
    rivals: Sequence[str],
    ratios: Mapping[str, Figure],
    doubts: Mapping[str, Doubt | None],
    against_best: Figure,
) -> Outcome:
    """`against_best`: the ratio to the best rival in the rounds that compare.

    One of the rivals without rounds that compare, as where all have failed, is not held.
    """
    if doubts[rivals[0]] in STILL_LOST and outcome_of(against_best) == "lost":
        return "lost"
    is_held = all(name in ratios and _is_held(ratios[name], doubts[name]) for name in rivals)
    return "held" if is_held else "undecided"


class Count(Value, frozen=True):
    """Numbers of cells or figures: held and lost, and of these by counts; undecided; lost by much;
    shown to be.
    """

    held: int
    lost: int
    undecided: int
    large: int
    shown_large: int
    held_by_counts: int = 0
    lost_by_counts: int = 0

    @property
    def all(self) -> int:
        return self.held + self.lost + self.undecided


def count_cells(cells: Sequence[Cell], verdicts: Iterable[Verdict]) -> Count:
    """Cells, by the figure that decides each. What is not measured is undecided."""
    deciding = [each for each in verdicts if each.is_deciding]
    counted = count_figures(deciding)
    missing = len(cells) - len({each.cell for each in deciding})
    return msgspec.structs.replace(counted, undecided=counted.undecided + missing)


def count_figures(verdicts: Sequence[Verdict]) -> Count:
    """Figures, each by itself."""
    outcomes = [verdict.outcome for verdict in verdicts]
    by_counts = [verdict.outcome for verdict in verdicts if verdict.is_by_counts]
    return Count(
        held=outcomes.count("held"),
        lost=outcomes.count("lost"),
        undecided=outcomes.count("undecided"),
        large=sum(verdict.is_large for verdict in verdicts),
        shown_large=sum(verdict.is_shown_large for verdict in verdicts),
        held_by_counts=by_counts.count("held"),
        lost_by_counts=by_counts.count("lost"),
    )
