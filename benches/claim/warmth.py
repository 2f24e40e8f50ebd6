"""Whether processes that stay give the same answer as fresh ones: `adaptive` ÷ `nodelay`."""

from __future__ import annotations

from claim.grid import COLD
from claim.runs import Variant
from claim.samples import COSTS, PACED, FigureName, Samples, paired_ratios
from claim.signed_rank import ratio_of
from tinygram_bench.model.result import Figure
from tinygram_bench.model.value import Value

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
