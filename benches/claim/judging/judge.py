"""Held, lost or undecided: a strategy beside the fixed ones that a reading names.

Odd rounds pick, even rounds compare. A figure is lost when it is lost to the rival that the odd
rounds say is the hardest, and held when it is held against each rival: that is an
intersection-union test, whose error needs no correction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from claim.grid import OURS, Cell, gathering
from claim.judging.compare import LOOKS, Outcome, compared, looked_at, outcome_of
from claim.judging.doubts import STILL_LOST, Doubt, doubt_of, is_blurred
from claim.judging.margins import LARGE_LOSS, SMALLEST_MARGIN, floors_of, margin_in
from claim.judging.picks import Reading, rivals_of
from claim.judging.samples import COSTS, GROSS_COSTS, Cost, FigureName, Samples, figures_of
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value


class Verdict(Value, frozen=True):
    """How a strategy compares in one figure of one cell.

    `rivals`: all that it must be held against; `rival`: the hardest of them, `ratio`: the cost ÷
    that one's in the even rounds, and `rounds`: how many, odd and even, have both. `narrow`: the
    outcome with the smallest margin. `gross`: the outcome with what the pacer was late left in,
    undecided where that is over a quarter of the latency. `above_floor`: the ratio of CPU without
    what the load itself takes. `is_large`: worse, and by more than LARGE_LOSS by the estimate;
    `is_shown_large`: by the whole interval.
    """

    cell: int
    figure: FigureName
    rivals: tuple[str, ...]
    rival: str
    ratio: Figure
    rounds: int
    margin: float
    outcome: Outcome
    narrow: Outcome
    gross: Outcome
    doubt: Doubt | None
    is_large: bool
    is_shown_large: bool
    above_floor: Figure | None


def verdicts_of(cells: Sequence[Cell], samples: Samples, reading: Reading) -> tuple[Verdict, ...]:
    """Ours in every figure of every cell that has been measured."""
    return judged_of(cells, samples, reading, dict.fromkeys(range(len(cells)), OURS))


def judged_of(
    cells: Sequence[Cell], samples: Samples, reading: Reading, strategies: Mapping[int, str]
) -> tuple[Verdict, ...]:
    """The same for any strategy in each cell; a strategy holds against itself."""
    floors = floors_of(cells, samples)
    verdicts = []
    for number, ours in strategies.items():
        cell = cells[number]
        for figure in figures_of(cell):
            rivals = rivals_of(reading, samples, number, cell, figure)
            margin = margin_in(floors, figure, cell.runtime)
            verdict = _verdict(samples, number, cell, figure, ours, rivals, margin)
            if verdict is not None:
                verdicts.append(verdict)
    return tuple(verdicts)


def _verdict(
    samples: Samples,
    number: int,
    cell: Cell,
    figure: FigureName,
    ours: str,
    rivals: Sequence[str],
    margin: float,
) -> Verdict | None:
    cost = COSTS[figure]
    medians = samples.odd_medians(number, rivals, cost)
    costs = {name: samples.costs(number, name, cost) for name in (ours, *medians)}
    ratios = {}
    doubts: dict[str, Doubt | None] = {}
    for name in medians:
        ratio = compared(costs[ours], costs[name])
        if ratio is None:
            continue
        ratios[name] = ratio
        used = looked_at(costs[ours], costs[name], "even")
        doubts[name] = doubt_of(samples, number, cell, figure, ours, name, used)
    if not ratios:
        return None
    rival = min(ratios, key=medians.__getitem__)
    ratio, is_known = ratios[rival], doubts[rival] in STILL_LOST
    return Verdict(
        cell=number,
        figure=figure,
        rivals=tuple(ratios),
        rival=rival,
        ratio=ratio,
        rounds=len(costs[ours].keys() & costs[rival].keys()),
        margin=margin,
        outcome=_outcome(ratios, rival, doubts, margin),
        narrow=_outcome(ratios, rival, doubts, SMALLEST_MARGIN),
        gross=_gross(samples, number, figure, ours, rival, doubts, margin),
        doubt=doubts[rival],
        is_large=is_known and ratio.low > 1 and ratio.median > 1 + LARGE_LOSS,
        is_shown_large=is_known and ratio.low > 1 + LARGE_LOSS,
        above_floor=_above_floor(samples, number, cell, ours, rival) if figure == "cpu" else None,
    )


def _outcome(
    ratios: Mapping[str, Figure], rival: str, doubts: Mapping[str, Doubt | None], margin: float
) -> Outcome:
    if doubts[rival] in STILL_LOST and outcome_of(ratios[rival], margin) == "lost":
        return "lost"
    is_held = all(
        doubts[name] is None and outcome_of(ratio, margin) == "held"
        for name, ratio in ratios.items()
    )
    return "held" if is_held else "undecided"


def _gross(
    samples: Samples,
    number: int,
    figure: FigureName,
    ours: str,
    rival: str,
    doubts: Mapping[str, Doubt | None],
    margin: float,
) -> Outcome:
    cost: Cost = GROSS_COSTS[figure]
    of_ours = samples.costs(number, ours, cost)
    ratios = {}
    for name in doubts:
        ratio = compared(of_ours, samples.costs(number, name, cost))
        if ratio is None or is_blurred(samples, number, name, figure):
            return "undecided"
        ratios[name] = ratio
    if is_blurred(samples, number, ours, figure):
        return "undecided"
    return _outcome(ratios, rival, doubts, margin)


def _above_floor(samples: Samples, number: int, cell: Cell, ours: str, rival: str) -> Figure | None:
    """The ratio of CPU above the median of what the load itself takes.

    None where that was not measured, or is not less than what a strategy took.
    """
    cost = COSTS["cpu"]
    floors = samples.costs(number, gathering(cell.runtime), cost, "floor").values()
    if not floors:
        return None
    floor_ns = median(floors)
    above, beside = (
        {round: value - floor_ns for round, value in samples.costs(number, name, cost).items()}
        for name in (ours, rival)
    )
    is_below = min(*above.values(), *beside.values()) <= 0
    return None if is_below else compared(above, beside)


class Count(Value, frozen=True):
    """Numbers of cells or figures: held, lost, undecided; lost by much; shown to be."""

    held: int
    lost: int
    undecided: int
    large: int
    shown_large: int

    @property
    def all(self) -> int:
        return self.held + self.lost + self.undecided


def count_cells(cells: Sequence[Cell], verdicts: Iterable[Verdict]) -> Count:
    """Cells: see `cell_outcome`. What is not measured is undecided."""
    by_cell: dict[int, list[Verdict]] = {number: [] for number in range(len(cells))}
    for verdict in verdicts:
        by_cell[verdict.cell].append(verdict)
    outcomes = [cell_outcome(cells[number], found) for number, found in by_cell.items()]
    return Count(
        held=outcomes.count("held"),
        lost=outcomes.count("lost"),
        undecided=outcomes.count("undecided"),
        large=sum(any(verdict.is_large for verdict in found) for found in by_cell.values()),
        shown_large=sum(any(each.is_shown_large for each in found) for found in by_cell.values()),
    )


def cell_outcome(cell: Cell, verdicts: Sequence[Verdict]) -> Outcome:
    """A cell is lost if one of its figures is, held if all are, else undecided."""
    outcomes = [verdict.outcome for verdict in verdicts]
    if "lost" in outcomes:
        return "lost"
    is_held = outcomes.count("held") == len(figures_of(cell))
    return "held" if is_held else "undecided"


def count_figures(verdicts: Sequence[Verdict]) -> Count:
    """Figures, each by itself."""
    outcomes = [verdict.outcome for verdict in verdicts]
    return Count(
        held=outcomes.count("held"),
        lost=outcomes.count("lost"),
        undecided=outcomes.count("undecided"),
        large=sum(verdict.is_large for verdict in verdicts),
        shown_large=sum(verdict.is_shown_large for verdict in verdicts),
    )


def may_be_decided(verdict: Verdict) -> bool:
    """Whether more rounds may change an undecided verdict."""
    return verdict.outcome == "undecided" and verdict.doubt is None and verdict.rounds < LOOKS[-1]
