"""Regret: how much more a strategy costs in a cell than the best fixed one, for every strategy.

In delay + CPU time, and flat out in the time per message. That of fixed strategies is from the
rounds that pick, where most run only at first; that of ours from those that compare, and it may be
below 0: a gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from claim.grid import OURS, RUNTIMES, Cell, name_on_all_runtimes
from claim.judging.compare import LARGE_LOSS, MARGIN, compared, picked
from claim.judging.doubts import is_overloaded
from claim.judging.picks import best_fixed, picking_figure
from claim.judging.samples import Samples
from tinygram_bench.model.value import Value


class Regret(Value, frozen=True):
    """One strategy in one cell: 0.2 is a fifth more than the best fixed one.

    `low`: the interval's lower end. `cost_ns`: the median over all rounds. `has_kept_up`: whether
    the best fixed one kept up with the rate and, unless it is ours, the strategy did: else its
    regret grows with the length of a slice.
    """

    cell: int
    strategy: str
    regret: float
    low: float
    cost_ns: float
    is_overloaded: bool
    has_kept_up: bool


class Worst(Value, frozen=True):
    """A strategy's largest regret over all cells of a runtime (null: of all), and where it is.

    `regret` leaves out what cannot keep up, which `with_overloaded` has; null where nothing is
    left. `shown`: the largest lower end of an interval, which chance does not explain. `beyond`:
    the largest regret whose whole interval is beyond the margin; null: there is none.
    """

    strategy: str
    runtime: str | None
    regret: float | None
    cell: int | None
    shown: float | None
    with_overloaded: float
    beyond: float | None = None


def regrets_of(cells: Sequence[Cell], samples: Samples) -> tuple[Regret, ...]:
    """Every strategy in every cell that was measured."""
    found = []
    for number, cell in enumerate(cells):
        best = best_fixed(samples, number, cell)
        if best is None:
            continue
        figure = picking_figure(samples, number, cell)
        late = {name for name in cell.strategies if is_overloaded(samples, number, cell, name)}
        for strategy in cell.strategies:
            ratios = samples.ratios(number, strategy, best, figure)
            ratio = compared(ratios) if strategy == OURS else picked(ratios)
            cost_ns = samples.cost_ns(number, strategy, figure)
            if ratio is None or cost_ns is None:
                continue
            found.append(
                Regret(
                    cell=number,
                    strategy=strategy,
                    regret=ratio.median - 1,
                    low=ratio.low - 1,
                    cost_ns=cost_ns,
                    is_overloaded=strategy in late,
                    has_kept_up=best not in late and (strategy == OURS or strategy not in late),
                )
            )
    return tuple(found)


def worst_of(cells: Sequence[Cell], regrets: Iterable[Regret]) -> tuple[Worst, ...]:
    """The largest regret of each strategy, fixed ones under one name everywhere."""
    by_name: dict[tuple[str | None, str], list[Regret]] = {}
    for regret in regrets:
        name = name_on_all_runtimes(regret.strategy)
        for runtime in (None, cells[regret.cell].runtime):
            by_name.setdefault((runtime, name), []).append(regret)
    order = {name: at for at, name in enumerate((None, *RUNTIMES))}
    keys = sorted(by_name, key=lambda key: (order[key[0]], key[1]))
    return tuple(_worst(runtime, name, by_name[runtime, name]) for runtime, name in keys)


def _worst(runtime: str | None, strategy: str, regrets: Sequence[Regret]) -> Worst:
    kept_up = [each for each in regrets if each.has_kept_up]
    worst = max(kept_up, key=lambda each: each.regret, default=None)
    return Worst(
        strategy=strategy,
        runtime=runtime,
        regret=worst.regret if worst else None,
        cell=worst.cell if worst else None,
        shown=max((each.low for each in kept_up), default=None),
        with_overloaded=max(each.regret for each in regrets),
        beyond=max((each.regret for each in kept_up if each.low > MARGIN), default=None),
    )


def worst_everywhere(worst: Iterable[Worst]) -> dict[str, float]:
    """Strategy → its largest regret over all cells, of what kept up."""
    return {
        each.strategy: each.regret
        for each in worst
        if each.runtime is None and each.regret is not None
    }


def best_single(largest: dict[str, float]) -> str | None:
    """The fixed strategy whose worst regret is the least."""
    fixed = {name: regret for name, regret in largest.items() if name != OURS}
    return min(fixed, key=fixed.__getitem__, default=None)


class Standing(Value, frozen=True):
    """In how many cells a strategy costs over MARGIN and over LARGE_LOSS more than the best one."""

    strategy: str
    cells: int
    over_margin: int
    over_large: int


def standings_of(regrets: Iterable[Regret]) -> tuple[Standing, ...]:
    """The standing of every strategy, ours last, whether it kept up or not."""
    by_name: dict[str, list[float]] = {}
    for each in regrets:
        by_name.setdefault(name_on_all_runtimes(each.strategy), []).append(each.regret)
    return tuple(
        Standing(
            name,
            len(found),
            sum(regret > MARGIN for regret in found),
            sum(regret > LARGE_LOSS for regret in found),
        )
        for name, found in sorted(by_name.items(), key=lambda each: each[0] == OURS)
    )
