"""The runs by cell and strategy, and what each of them cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from claim.grid import Cell
from claim.runs import Measured, Variant

FigureName = Literal["sum", "p50", "p99", "cpu", "throughput"]
PACED: tuple[FigureName, ...] = ("p50", "p99", "cpu")
FLAT_OUT: tuple[FigureName, ...] = ("throughput",)
LATENCIES: tuple[FigureName, ...] = ("p50", "p99")
FIGURES = (*PACED, *FLAT_OUT)

Cost = Callable[[Measured], float | None]


def figures_of(cell: Cell) -> tuple[FigureName, ...]:
    """What is compared in a cell."""
    return FLAT_OUT if cell.rate_per_s is None else PACED


def weighed(delay: float, cpu: float) -> Cost:
    """Mean delay and CPU time of a message, so weighed, in ns; flat out the time per message."""

    def cost(run: Measured) -> float:
        if run.delay_mean_ns is None:
            return run.run_time_ns / run.messages
        return delay * run.delay_mean_ns + cpu * run.cpu_ns / run.messages

    return cost


COSTS: Mapping[FigureName, Cost] = {
    "sum": weighed(1, 1),
    "p50": lambda run: run.p50_ns,
    "p99": lambda run: run.p99_ns,
    "cpu": lambda run: run.cpu_ns / run.messages,
    "throughput": lambda run: run.run_time_ns / run.messages,
}
"""Each figure as a cost in ns, less is better: throughput is the time per message."""
GROSS_COSTS: Mapping[FigureName, Cost] = {
    **COSTS,
    "p50": lambda run: run.gross_p50_ns,
    "p99": lambda run: run.gross_p99_ns,
}
"""The same with what the pacer was late."""


@dataclass(frozen=True)
class Samples:
    """Good runs by cell number, strategy and variant, in the order of the rounds."""

    runs: Mapping[tuple[int, str, Variant], Sequence[Measured]]
    failures: Sequence[Measured] = field(default_factory=tuple)

    @staticmethod
    def of(runs: Iterable[Measured]) -> Samples:
        """Sort runs; failed ones are kept apart."""
        found: dict[tuple[int, str, Variant], list[Measured]] = {}
        failures = []
        for run in sorted(runs, key=lambda run: run.round):
            if run.failure is None:
                found.setdefault((run.cell, run.strategy, run.variant), []).append(run)
            else:
                failures.append(run)
        return Samples(found, failures)

    def of_strategy(
        self, cell: int, strategy: str, variant: Variant = "warm"
    ) -> Sequence[Measured]:
        """The good runs of a strategy in a cell."""
        return self.runs.get((cell, strategy, variant), ())

    def has_failed(self, cell: int, strategy: str) -> bool:
        """Whether one of its runs failed there."""
        return any((run.cell, run.strategy) == (cell, strategy) for run in self.failures)

    def costs(
        self, cell: int, strategy: str, cost: Cost, variant: Variant = "warm"
    ) -> dict[int, float]:
        """Round → cost in ns, above 0."""
        values = {run.round: cost(run) for run in self.of_strategy(cell, strategy, variant)}
        return {round: value for round, value in values.items() if value is not None and value > 0}

    def median(self, cell: int, strategy: str, number: Cost) -> float | None:
        """The median over the rounds of what `number` says of a run; None where it says nothing."""
        said = [number(run) for run in self.of_strategy(cell, strategy)]
        known = [value for value in said if value is not None]
        return median(known) if known else None

    def odd_medians(self, cell: int, strategies: Iterable[str], cost: Cost) -> dict[str, float]:
        """Strategy → median cost in the odd rounds, of those that have any."""
        found = {}
        for strategy in strategies:
            costs = self.costs(cell, strategy, cost)
            odd = [value for round, value in costs.items() if is_odd(round)]
            if odd:
                found[strategy] = median(odd)
        return found


def is_odd(round: int) -> bool:
    """Odd rounds pick the best fixed strategy, even ones compare with it."""
    return round % 2 == 1


def paired_ratios(ours: Mapping[int, float], theirs: Mapping[int, float]) -> dict[int, float]:
    """Round → ours ÷ theirs, of the rounds that have both."""
    return {round: ours[round] / theirs[round] for round in ours if round in theirs}
