"""Regret: how much more a strategy costs in a cell than the best fixed one, for every strategy.

The best is picked in the odd rounds and the regret estimated in the even ones, so a regret may be
below 0: of the best one that is chance, of `adaptive` it may be a gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from claim.grid import OURS, Cell, single
from claim.judge import best_fixed, compared, is_overloaded
from claim.samples import FIGURES, FigureName, Samples, figures_of
from tinygram.bench.result import Value


class Regret(Value, frozen=True):
    """Of one strategy in one figure of one cell: 0.2 is a fifth more than the best fixed one.

    `low`: the interval's lower end. `cost_ns`: the median over all rounds.
    """

    cell: int
    figure: FigureName
    strategy: str
    regret: float
    low: float
    cost_ns: float
    is_overloaded: bool


class Worst(Value, frozen=True):
    """A strategy's largest regret over all cells, and where it is.

    `shown`: the largest lower end of an interval, which chance does not explain.
    """

    strategy: str
    figure: FigureName
    regret: float
    cell: int
    shown: float
    shown_cell: int


def regrets_of(cells: Sequence[Cell], samples: Samples) -> tuple[Regret, ...]:
    """Every strategy in every figure of every cell that was measured."""
    regrets = []
    for number, cell in enumerate(cells):
        for figure in figures_of(cell):
            best = best_fixed(samples, number, cell, figure)
            if best is None:
                continue
            of_best = samples.costs(number, best, figure)
            for strategy in cell.strategies:
                costs = samples.costs(number, strategy, figure)
                ratio = compared(costs, of_best)
                if ratio is None:
                    continue
                regrets.append(
                    Regret(
                        cell=number,
                        figure=figure,
                        strategy=strategy,
                        regret=ratio.median - 1,
                        low=ratio.low - 1,
                        cost_ns=sorted(costs.values())[len(costs) // 2],
                        is_overloaded=is_overloaded(samples, number, cell, strategy),
                    )
                )
    return tuple(regrets)


def worst_of(regrets: Iterable[Regret]) -> tuple[Worst, ...]:
    """The largest regret of each strategy in each figure, fixed ones under one name everywhere."""
    by_name: dict[tuple[str, FigureName], list[Regret]] = {}
    for regret in regrets:
        by_name.setdefault((single(regret.strategy), regret.figure), []).append(regret)
    return tuple(
        _worst(strategy, figure, same)
        for figure in FIGURES
        for (strategy, own), same in sorted(by_name.items())
        if own == figure
    )


def _worst(strategy: str, figure: FigureName, regrets: Sequence[Regret]) -> Worst:
    worst = max(regrets, key=lambda regret: regret.regret)
    shown = max(regrets, key=lambda regret: regret.low)
    return Worst(strategy, figure, worst.regret, worst.cell, shown.low, shown.cell)


def best_single(worst: Iterable[Worst], figure: FigureName) -> Worst | None:
    """The fixed strategy whose worst regret in that figure is the least."""
    fixed = [each for each in worst if each.figure == figure and each.strategy != OURS]
    return min(fixed, key=lambda each: each.regret) if fixed else None


def best_overall(worst: Iterable[Worst]) -> tuple[str, float] | None:
    """The fixed strategy whose worst regret over all figures is the least, and that regret."""
    largest: dict[str, float] = {}
    for each in worst:
        if each.strategy != OURS:
            largest[each.strategy] = max(largest.get(each.strategy, each.regret), each.regret)
    if not largest:
        return None
    name = min(largest, key=largest.__getitem__)
    return name, largest[name]
