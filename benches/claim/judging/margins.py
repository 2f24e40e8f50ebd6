"""What counts as not worse: as far apart as two measurements of one strategy come out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, exp, log

from claim.grid import TWICE, Cell, is_run_twice
from claim.judging.compare import Outcome, compared, outcome_of
from claim.judging.samples import COSTS, FigureName, Samples, figures_of
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value

SMALLEST_MARGIN = 0.05
LARGE_LOSS = 0.10
LARGEST_MARGIN = LARGE_LOSS
"""Where chance does more than this, nothing is held by it."""
FLOOR_QUANTILE = 0.9


class Floor(Value, frozen=True):
    """How far apart two measurements of `nodelay` on a runtime come out.

    `floor`: what FLOOR_QUANTILE of `count` comparisons stay within; `largest`: what all do.
    """

    figure: FigureName
    runtime: str
    floor: float
    largest: float
    count: int
    outcomes: dict[Outcome, int]

    @property
    def margin(self) -> float:
        """What counts as not worse: 0.05 is 5 %."""
        return margin_of(self.floor)


def margin_of(floor: float) -> float:
    """The margin where the noise floor is so high."""
    return min(max(SMALLEST_MARGIN, floor), LARGEST_MARGIN)


def floors_of(cells: Sequence[Cell], samples: Samples) -> tuple[Floor, ...]:
    """The noise floor of each figure on each runtime, where a strategy ran twice."""
    found: dict[tuple[FigureName, str], list[Figure]] = {}
    for number, cell in enumerate(cells):
        if not is_run_twice(cell):
            continue
        for figure in figures_of(cell):
            once = samples.costs(number, TWICE, COSTS[figure])
            ratio = compared(once, samples.costs(number, TWICE, COSTS[figure], "again"))
            if ratio is not None:
                found.setdefault((figure, cell.runtime), []).append(ratio)
    return tuple(_floor(figure, runtime, ratios) for (figure, runtime), ratios in found.items())


def _floor(figure: FigureName, runtime: str, ratios: Sequence[Figure]) -> Floor:
    apart = sorted(abs(log(ratio.median)) for ratio in ratios)
    floor = exp(apart[ceil(FLOOR_QUANTILE * len(apart)) - 1]) - 1
    margin = margin_of(floor)
    outcomes: dict[Outcome, int] = {"held": 0, "lost": 0, "undecided": 0}
    for ratio in ratios:
        outcomes[outcome_of(ratio, margin)] += 1
    return Floor(figure, runtime, floor, exp(apart[-1]) - 1, len(apart), outcomes)


def margin_in(floors: Iterable[Floor], figure: FigureName, runtime: str) -> float:
    """The margin on a runtime; the smallest where nothing ran twice there."""
    margins = {(floor.figure, floor.runtime): floor.margin for floor in floors}
    return margins.get((figure, runtime), SMALLEST_MARGIN)
