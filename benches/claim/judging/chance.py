"""What chance does: ours beside itself, judged by the rule that judges it beside others."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, log

from claim.grid import OURS, Cell, is_run_twice
from claim.judging.compare import Outcome, compared, outcome_of
from claim.judging.samples import Samples, figures_of
from claim.runs import FigureName
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value

QUANTILE = 0.9


class Chance(Value, frozen=True):
    """How far apart two measurements of ours on a runtime come out.

    `within`: what QUANTILE of `count` comparisons stay within; `largest`: what all do. `half`: half
    the width of an interval, the median. `differing`: intervals that exclude 1.
    """

    figure: FigureName
    runtime: str
    count: int
    within: float
    largest: float
    half: float
    differing: int
    outcomes: dict[Outcome, int]


def chances_of(cells: Sequence[Cell], samples: Samples) -> tuple[Chance, ...]:
    """What chance does to each figure on each runtime where ours ran twice."""
    found: dict[tuple[FigureName, str], list[Figure]] = {}
    for number, cell in enumerate(cells):
        if not is_run_twice(cell):
            continue
        for figure in figures_of(cell):
            ratio = compared(samples.ratios(number, OURS, OURS, figure, "again"))
            if ratio is not None:
                found.setdefault((figure, cell.runtime), []).append(ratio)
    return tuple(_chance(figure, runtime, ratios) for (figure, runtime), ratios in found.items())


def _chance(figure: FigureName, runtime: str, ratios: Sequence[Figure]) -> Chance:
    apart = sorted(exp(abs(log(ratio.median))) - 1 for ratio in ratios)
    halves = sorted(ratio.half_width for ratio in ratios)
    outcomes: dict[Outcome, int] = {"held": 0, "lost": 0, "undecided": 0}
    for ratio in ratios:
        outcomes[outcome_of(ratio)] += 1
    return Chance(
        figure,
        runtime,
        count=len(ratios),
        within=apart[ceil(QUANTILE * len(apart)) - 1],
        largest=apart[-1],
        half=halves[len(halves) // 2],
        differing=sum(not ratio.low <= 1 <= ratio.high for ratio in ratios),
        outcomes=outcomes,
    )
