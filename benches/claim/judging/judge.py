"""Held, lost or undecided: ours beside the fixed strategy that is the best of a cell.

A figure is lost when it is lost to the best one, and held when it is held against each that the
rounds that pick do not show to be worse: that is an intersection-union test, whose error needs no
correction. Where the clock leaves the figure that decides a cell undecided, counts may hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from claim.grid import OURS, Cell
from claim.judging.compare import (
    LARGE_LOSS,
    LOOKS,
    PICKING_ROUNDS,
    Outcome,
    compared,
    looked_at,
    outcome_of,
)
from claim.judging.counts import MOST_APART, share_apart
from claim.judging.doubts import STILL_LOST, Doubt, doubt_of
from claim.judging.picks import near_best, picking_figure
from claim.judging.samples import Samples, figures_of
from claim.judging.signed_rank import NO_BOUND
from claim.runs import FigureName
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value


class Verdict(Value, frozen=True):
    """How ours compares in one figure of one cell.

    `is_deciding`: whether the cell is decided by this figure. `rivals`: all that it must be held
    against, the best one first; `ratio`: the cost ÷ the best one's in the rounds that compare, and
    `rounds`: how many have both. `is_large`: worse, and by more than LARGE_LOSS by the estimate;
    `is_shown_large`: by the whole interval. `by_clock`: what the clock says. `is_by_counts`: held
    by what was counted, where the clock leaves it undecided and does not show it worse (counts.py).
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
    is_by_counts: bool = False

    @property
    def rival(self) -> str:
        return self.rivals[0]

    @property
    def outcome(self) -> Outcome:
        """What is said: by the clock, or where that cannot say by counts."""
        return "held" if self.is_by_counts else self.by_clock

    @property
    def may_be_decided(self) -> bool:
        """Whether more rounds may change an undecided verdict."""
        is_open = self.is_deciding and self.by_clock == "undecided" and self.doubt is None
        return is_open and self.rounds < LOOKS[-1] - PICKING_ROUNDS


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
        ratio = compared(by_round)
        if ratio is not None:
            ratios[name] = ratio
            used = looked_at(by_round)
            doubts[name] = doubt_of(samples, number, cell, figure, OURS, name, used)
    if not ratios or rivals[0] not in ratios:
        return None
    ratio, doubt = ratios[rivals[0]], doubts[rivals[0]]
    is_known = doubt in STILL_LOST
    outcome = _outcome(ratios, rivals[0], doubts)
    is_by_counts = (
        is_deciding
        and outcome == "undecided"
        and all(
            _is_held(of_rival, doubts[name])
            or (
                of_rival.low <= 1 < of_rival.high < NO_BOUND
                and doubts[name] is None
                and _does_the_same(samples, number, cell, figure, name)
            )
            for name, of_rival in ratios.items()
        )
    )
    return Verdict(
        cell=number,
        figure=figure,
        is_deciding=is_deciding,
        rivals=tuple(ratios),
        ratio=ratio,
        rounds=len(looked_at(samples.ratios(number, OURS, rivals[0], figure))),
        by_clock=outcome,
        doubt=doubt,
        is_large=is_known and ratio.low > 1 and ratio.median > 1 + LARGE_LOSS,
        is_shown_large=is_known and ratio.low > 1 + LARGE_LOSS,
        is_by_counts=is_by_counts,
    )


def _does_the_same(
    samples: Samples, number: int, cell: Cell, figure: FigureName, rival: str
) -> bool:
    """Whether ours makes as many writes after as long holds as the rival."""
    apart = share_apart(samples, number, cell, figure, OURS, rival)
    return apart is not None and apart <= MOST_APART


def _is_held(ratio: Figure, doubt: Doubt | None) -> bool:
    return doubt is None and outcome_of(ratio) == "held"


def _outcome(
    ratios: Mapping[str, Figure], best: str, doubts: Mapping[str, Doubt | None]
) -> Outcome:
    if doubts[best] in STILL_LOST and outcome_of(ratios[best]) == "lost":
        return "lost"
    is_held = all(_is_held(ratio, doubts[name]) for name, ratio in ratios.items())
    return "held" if is_held else "undecided"


class Count(Value, frozen=True):
    """Numbers of cells or figures: held, and of these by counts; lost, undecided; lost by much;
    shown to be.
    """

    held: int
    by_counts: int
    lost: int
    undecided: int
    large: int
    shown_large: int

    @property
    def all(self) -> int:
        return self.held + self.lost + self.undecided


def count_cells(cells: Sequence[Cell], verdicts: Iterable[Verdict]) -> Count:
    """Cells, by the figure that decides each. What is not measured is undecided."""
    deciding = [each for each in verdicts if each.is_deciding]
    counted = count_figures(deciding)
    missing = len(cells) - len({each.cell for each in deciding})
    return Count(
        counted.held,
        counted.by_counts,
        counted.lost,
        counted.undecided + missing,
        counted.large,
        counted.shown_large,
    )


def count_figures(verdicts: Sequence[Verdict]) -> Count:
    """Figures, each by itself."""
    outcomes = [verdict.outcome for verdict in verdicts]
    return Count(
        held=outcomes.count("held"),
        by_counts=sum(verdict.is_by_counts for verdict in verdicts),
        lost=outcomes.count("lost"),
        undecided=outcomes.count("undecided"),
        large=sum(verdict.is_large for verdict in verdicts),
        shown_large=sum(verdict.is_shown_large for verdict in verdicts),
    )
