"""How far the test can be trusted: each fixed strategy, and the cell's own pick, judged by the same
rules; delay + CPU time, whatever they are worth; and whether processes that stay give the same
answer as fresh ones.

With delay and CPU in µs, and 1 µs of CPU as much as 1 µs of delay, a weighed cost agrees with the
yardstick's delay + λ × writes, λ being what a write costs (Dooly, Goldman and Scott, JACM 2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from claim.grid import COLD, OURS, Cell, name_on_all_runtimes
from claim.judging.compare import compared
from claim.judging.doubts import is_overloaded
from claim.judging.judge import Count, count_cells, judged_of
from claim.judging.picks import BESIDE, DECIDING, Reading, best_fixed
from claim.judging.samples import COSTS, PACED, FigureName, Samples, paired_ratios, weighed
from claim.judging.signed_rank import ratio_of
from claim.runs import Variant
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value

THE_PICK = "the pick of each cell"
"""The fixed strategy with the least delay + CPU in the odd rounds: nobody knows it beforehand."""


class Calibration(Value, frozen=True):
    """In how many cells a strategy holds and loses."""

    strategy: str
    reading: Reading
    count: Count


def calibrations_of(cells: Sequence[Cell], samples: Samples) -> tuple[Calibration, ...]:
    """Every strategy over all cells, the pick, and ours last."""
    candidates: dict[str, dict[int, str]] = {}
    for number, cell in enumerate(cells):
        for strategy in cell.strategies:
            candidates.setdefault(name_on_all_runtimes(strategy), {})[number] = strategy
        pick = best_fixed(samples, number, cell, COSTS["sum"])
        if pick is not None:
            candidates.setdefault(THE_PICK, {})[number] = pick
    names = sorted(candidates, key=lambda name: (name == OURS, name == THE_PICK))
    return tuple(
        Calibration(
            name, reading, count_cells(cells, judged_of(cells, samples, reading, candidates[name]))
        )
        for reading in (DECIDING, BESIDE)
        for name in names
    )


WEIGHTS: Mapping[str, tuple[float, float]] = {
    "0": (1, 0),
    "¼": (1, 0.25),
    "1": (1, 1),
    "4": (1, 4),
    "∞": (0, 1),
}
"""CPU's weight → the factors of delay and of CPU."""


class Weighed(Value, frozen=True):
    """Our delay + weight × CPU ÷ that of the best fixed strategy, picked at that weight."""

    cell: int
    weight: str
    best: str
    ratio: Figure


def weighed_of(cells: Sequence[Cell], samples: Samples) -> tuple[Weighed, ...]:
    """Each weight in each paced cell that was measured and in which the best keeps up."""
    found = []
    for number, cell in enumerate(cells):
        if cell.rate_per_s is None:
            continue
        for weight, factors in WEIGHTS.items():
            cost = weighed(*factors)
            best = best_fixed(samples, number, cell, cost)
            if best is None or is_overloaded(samples, number, cell, best):
                continue
            ratio = compared(samples.costs(number, OURS, cost), samples.costs(number, best, cost))
            if ratio is not None:
                found.append(Weighed(number, weight, best, ratio))
    return tuple(found)


_ERROR = 0.05


class Warmth(Value, frozen=True):
    """The ratio of a figure by warm processes and by fresh ones, over the rounds that have both."""

    cell: int
    figure: FigureName
    warm: Figure
    cold: Figure


def warmth_of(samples: Samples) -> tuple[Warmth, ...]:
    """Each figure of each cell that fresh processes ran."""
    numbers = sorted({number for number, _, variant in samples.runs if variant == "cold"})
    found = []
    for number in numbers:
        for figure in PACED:
            warm, cold = (_ratio(samples, number, figure, of) for of in _VARIANTS)
            if warm is not None and cold is not None:
                found.append(Warmth(number, figure, warm, cold))
    return tuple(found)


_VARIANTS: tuple[Variant, Variant] = ("warm", "cold")


def _ratio(samples: Samples, number: int, figure: FigureName, variant: Variant) -> Figure | None:
    ours, theirs = (samples.costs(number, name, COSTS[figure], variant) for name in COLD)
    rounds = {run.round for run in samples.of_strategy(number, COLD[0], "cold")}
    ratios = [ratio for round, ratio in paired_ratios(ours, theirs).items() if round in rounds]
    return ratio_of(ratios, _ERROR) if ratios else None
