"""The runs by cell and strategy, and what they cost beside each other, slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from claim.grid import Cell
from claim.judging.compare import PICKING_ROUNDS
from claim.planned import PlannedRun, Variant
from claim.runs import FigureName, Measured

PACED: tuple[FigureName, ...] = ("sum", "p50", "p99", "cpu")
FLAT_OUT: tuple[FigureName, ...] = ("throughput",)
LATENCIES: tuple[FigureName, ...] = ("sum", "p50", "p99")
"""What there is none of where nobody can keep up."""
FIGURES = (*PACED, *FLAT_OUT)


def figures_of(cell: Cell) -> tuple[FigureName, ...]:
    """What is compared in a cell."""
    return FLAT_OUT if cell.rate_per_s is None else PACED


@dataclass(frozen=True)
class Samples:
    """Good runs by what was planned and round, in the order of the rounds."""

    runs: Mapping[PlannedRun, Mapping[int, Measured]]
    failures: Sequence[Measured] = field(default_factory=tuple)

    @staticmethod
    def of(runs: Iterable[Measured]) -> Samples:
        """Sort runs; failed ones are kept apart."""
        found: dict[PlannedRun, dict[int, Measured]] = {}
        failures = []
        for each in sorted(runs, key=lambda each: each.round):
            if each.failure is None:
                found.setdefault(each.run, {})[each.round] = each
            else:
                failures.append(each)
        return Samples(found, failures)

    @cached_property
    def of_picking(self) -> Samples:
        """The same without the rounds that compare."""
        runs = {
            planned: {round: run for round, run in by_round.items() if round <= PICKING_ROUNDS}
            for planned, by_round in self.runs.items()
        }
        return Samples(runs, [each for each in self.failures if each.round <= PICKING_ROUNDS])

    def of_strategy(self, cell: int, strategy: str) -> Sequence[Measured]:
        """The good runs of a strategy in a cell."""
        return tuple(self.runs.get(PlannedRun(cell, strategy), {}).values())

    def has_failed(self, cell: int, strategy: str) -> bool:
        """Whether one of its runs failed there."""
        return any((each.run.cell, each.run.strategy) == (cell, strategy) for each in self.failures)

    def ratios(
        self, cell: int, ours: str, theirs: str, figure: FigureName, variant: Variant = "once"
    ) -> dict[int, float]:
        """Round → the median of ours ÷ theirs of slices of the same cycle; `variant` is theirs."""
        above = self.runs.get(PlannedRun(cell, ours), {})
        below = self.runs.get(PlannedRun(cell, theirs, variant), {})
        found = {}
        for round in above.keys() & below.keys():
            ratios = _slice_ratios(above[round], below[round], figure)
            if ratios:
                found[round] = median(ratios)
        return dict(sorted(found.items()))

    def pairs(self, cell: int, ours: str, theirs: str) -> dict[int, tuple[Measured, Measured]]:
        """Round → the runs of both, of the rounds that have both."""
        above = self.runs.get(PlannedRun(cell, ours), {})
        below = self.runs.get(PlannedRun(cell, theirs), {})
        return {round: (above[round], below[round]) for round in sorted(above.keys() & below)}

    def write_price_ns(self, cell: int, strategies: Iterable[str]) -> float | None:
        """The CPU time of a write, of the strategy in which it is the most; None: not known."""

        def of_run(run: Measured) -> float | None:
            return run.write_cpu_ns / run.writes if run.write_cpu_ns and run.writes else None

        prices = [self.median(cell, name, of_run) for name in strategies]
        return max((each for each in prices if each is not None), default=None)

    def median(
        self, cell: int, strategy: str, number: Callable[[Measured], float | None]
    ) -> float | None:
        """The median over the rounds of what `number` says of a run; None where it says nothing."""
        said = [number(run) for run in self.of_strategy(cell, strategy)]
        known = [value for value in said if value is not None]
        return median(known) if known else None

    def cost_ns(self, cell: int, strategy: str, figure: FigureName) -> float | None:
        """The median over the rounds of a strategy's cost."""
        return self.median(cell, strategy, lambda run: _cost_ns(run, figure))

    def calm_and_usual_cost_ns(
        self, cell: int, strategy: str, figure: FigureName
    ) -> tuple[float, float] | None:
        """A strategy's cost in a slice: the lower quartile, and the median; None: not known."""
        known = sorted(
            each
            for run in self.of_strategy(cell, strategy)
            for each in run.costs.get(figure, ())
            if each is not None
        )
        return (known[len(known) // 4], median(known)) if known else None

    def picking_costs(
        self, cell: int, strategies: Iterable[str], figure: FigureName
    ) -> dict[str, float]:
        """Strategy → its median cost in the rounds that pick, of those that have any."""

        def in_picking(run: Measured) -> float | None:
            return _cost_ns(run, figure) if run.round <= PICKING_ROUNDS else None

        found = {name: self.median(cell, name, in_picking) for name in strategies}
        return {name: cost for name, cost in found.items() if cost is not None}


def _slice_ratios(above: Measured, below: Measured, figure: FigureName) -> list[float]:
    pairs = zip(above.costs.get(figure, ()), below.costs.get(figure, ()), strict=True)
    return [a / b for a, b in pairs if a is not None and b]


def _cost_ns(run: Measured, figure: FigureName) -> float | None:
    known = [each for each in run.costs.get(figure, ()) if each is not None]
    return median(known) if known else None
