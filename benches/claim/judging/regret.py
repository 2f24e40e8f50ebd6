"""Regret: how much more a strategy costs in a cell than the best fixed one, for every strategy.

The best is picked in the odd rounds and the regret estimated in the even ones, so a regret may be
below 0: of the best one that is chance, of `adaptive` it may be a gain. The regret of delay + CPU
is against the one strategy that is picked for the cell, those of single figures against the best in
that figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from claim.grid import OURS, RUNTIMES, Cell, name_on_all_runtimes
from claim.judging.compare import compared
from claim.judging.doubts import is_overloaded
from claim.judging.picks import best_fixed
from claim.judging.samples import COSTS, FIGURES, FigureName, Samples, figures_of
from tinygram_bench.model.value import Value

ALL_FIGURES: tuple[FigureName, ...] = ("sum", *FIGURES)


class Regret(Value, frozen=True):
    """One strategy in one figure of one cell: 0.2 is a fifth more than the best fixed one.

    `low`: the interval's lower end. `cost_ns`: the median over all rounds. `has_kept_up`: whether
    the best fixed one kept up with the rate and, unless it is ours, the strategy did: else its
    regret grows with the length of the run.
    """

    cell: int
    figure: FigureName
    strategy: str
    regret: float
    low: float
    cost_ns: float
    is_overloaded: bool
    has_kept_up: bool


class Worst(Value, frozen=True):
    """A strategy's largest regret over all cells of a runtime (null: of all), and where it is.

    `regret` leaves out what cannot keep up, which `with_overloaded` has; null where nothing is
    left. `shown`: the largest lower end of an interval, which chance does not explain.
    """

    strategy: str
    figure: FigureName
    runtime: str | None
    regret: float | None
    cell: int | None
    shown: float | None
    with_overloaded: float


def regrets_of(cells: Sequence[Cell], samples: Samples) -> tuple[Regret, ...]:
    """Every strategy in every figure of every cell that was measured."""
    found = []
    for number, cell in enumerate(cells):
        late = {name for name in cell.strategies if is_overloaded(samples, number, cell, name)}
        figures: tuple[FigureName, ...] = ("sum", *figures_of(cell))
        for figure in figures:
            best = best_fixed(samples, number, cell, COSTS[figure])
            if best is None:
                continue
            of_best = samples.costs(number, best, COSTS[figure])
            for strategy in cell.strategies:
                costs = samples.costs(number, strategy, COSTS[figure])
                ratio = compared(costs, of_best)
                if ratio is None:
                    continue
                found.append(
                    Regret(
                        cell=number,
                        figure=figure,
                        strategy=strategy,
                        regret=ratio.median - 1,
                        low=ratio.low - 1,
                        cost_ns=median(costs.values()),
                        is_overloaded=strategy in late,
                        has_kept_up=best not in late and (strategy == OURS or strategy not in late),
                    )
                )
    return tuple(found)


def worst_of(cells: Sequence[Cell], regrets: Iterable[Regret]) -> tuple[Worst, ...]:
    """The largest regret of each strategy in each figure, fixed ones under one name everywhere."""
    by_name: dict[tuple[FigureName, str | None, str], list[Regret]] = {}
    for regret in regrets:
        name = name_on_all_runtimes(regret.strategy)
        for runtime in (None, cells[regret.cell].runtime):
            by_name.setdefault((regret.figure, runtime, name), []).append(regret)
    order = {name: at for at, name in enumerate((None, *RUNTIMES))}
    keys = sorted(by_name, key=lambda key: (ALL_FIGURES.index(key[0]), order[key[1]], key[2]))
    return tuple(_worst(*key, by_name[key]) for key in keys)


def _worst(
    figure: FigureName, runtime: str | None, strategy: str, regrets: Sequence[Regret]
) -> Worst:
    kept_up = [each for each in regrets if each.has_kept_up]
    worst = max(kept_up, key=lambda each: each.regret, default=None)
    return Worst(
        strategy=strategy,
        figure=figure,
        runtime=runtime,
        regret=worst.regret if worst else None,
        cell=worst.cell if worst else None,
        shown=max((each.low for each in kept_up), default=None),
        with_overloaded=max(each.regret for each in regrets),
    )


def worst_in(worst: Iterable[Worst], figures: Sequence[FigureName]) -> dict[str, float]:
    """Strategy → its largest regret over all cells in these figures, of what kept up."""
    largest: dict[str, float] = {}
    for each in worst:
        if each.runtime is None and each.figure in figures and each.regret is not None:
            largest[each.strategy] = max(largest.get(each.strategy, each.regret), each.regret)
    return largest


def best_single(largest: dict[str, float]) -> str | None:
    """The fixed strategy whose worst regret is the least."""
    fixed = {name: regret for name, regret in largest.items() if name != OURS}
    return min(fixed, key=fixed.__getitem__, default=None)
