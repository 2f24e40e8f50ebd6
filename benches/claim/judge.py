"""Held, lost or undecided: `adaptive` beside the fixed strategy that odd rounds say is the best.

Odd rounds pick, even rounds compare, so that luck in picking is none in comparing. Every figure is
judged by itself, and its best strategy is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, exp, log
from statistics import median
from typing import Literal

from claim.grid import OURS, TWICE, Cell, fixed_strategies, is_run_twice
from claim.runs import Measured
from claim.samples import FigureName, Samples, figures_of, is_odd, paired_ratios
from claim.signed_rank import ratio_of
from tinygram.bench.result import Figure, Value

LOOKS = (12, 18, 24)
"""After so many rounds of a cell it is looked at; where it is undecided, more follow."""
LOOK_ERRORS = (0.0313, 0.0118, 0.0069)
"""How often an interval may miss at each look: together 5 % (Bonferroni), 2.5 % on either side."""
SMALLEST_MARGIN = 0.05
LARGEST_MARGIN = 0.20
"""Where chance does more than this, nothing is held by it."""
LARGE_LOSS = 0.10
FLOOR_QUANTILE = 0.9
MOST_PACING_ERROR = 0.25
MOST_BEHIND = 0.05
LEAST_BEHIND_NS = 2_000_000

Outcome = Literal["held", "lost", "undecided"]


class Floor(Value, frozen=True):
    """How far apart two measurements of one strategy come out: nine of ten are nearer.

    `rate_per_s` null: flat out. `largest` is the farthest of `count` comparisons.
    """

    figure: FigureName
    rate_per_s: float | None
    floor: float
    largest: float
    count: int
    outcomes: dict[Outcome, int]

    @property
    def margin(self) -> float:
        """What counts as not worse: 0.05 is 5 %."""
        return margin_of(self.floor)


class Verdict(Value, frozen=True):
    """How `adaptive` compares in one figure of one cell.

    `ratio`: its cost ÷ that of `best`, in the even rounds; `rounds`: how many, odd and even, have
    both. `is_large`: lost by more than 10 %.
    `is_blurred`: the pacer's own error is over a quarter of the latency. `overloaded`: which of the
    two cannot keep up. `net_ratio`: the ratio of latencies without the pacer's error.
    """

    cell: int
    figure: FigureName
    best: str
    ratio: Figure
    rounds: int
    margin: float
    outcome: Outcome
    is_large: bool
    is_blurred: bool
    overloaded: tuple[str, ...]
    net_ratio: Figure | None
    against_all: Outcome


def margin_of(floor: float) -> float:
    """The margin where the noise floor is so high."""
    return min(max(SMALLEST_MARGIN, floor), LARGEST_MARGIN)


def compared(
    ours: Mapping[int, float],
    theirs: Mapping[int, float],
    *,
    all_rounds: bool = False,
    rivals: int = 1,
) -> Figure | None:
    """ours ÷ theirs over the even rounds, or over all; None where no round has both.

    Rounds after the last look that was reached are left out: they were not planned to be looked
    at. The interval's error is that look's, divided by `rivals`.
    """
    ratios = paired_ratios(ours, theirs)
    reached = [look for look in LOOKS if look <= max(ratios, default=0)]
    last = reached[-1] if reached else LOOKS[0]
    used = [
        ratio
        for round, ratio in ratios.items()
        if round <= last and (all_rounds or not is_odd(round))
    ]
    return ratio_of(used, LOOK_ERRORS[LOOKS.index(last)] / rivals) if used else None


def outcome_of(ratio: Figure, margin: float) -> Outcome:
    """Held when the whole interval is within the margin, or better; lost when it is beyond."""
    if ratio.high <= 1 + margin:
        return "held"
    return "lost" if ratio.low > 1 + margin else "undecided"


def best_fixed(samples: Samples, number: int, cell: Cell, figure: FigureName) -> str | None:
    """What has the lowest median in the odd rounds; None where none has any."""
    medians = {}
    for strategy in fixed_strategies(cell.runtime):
        costs = samples.costs(number, strategy, figure)
        odd = [cost for round, cost in costs.items() if is_odd(round)]
        if odd:
            medians[strategy] = median(odd)
    return min(medians, key=medians.__getitem__) if medians else None


def floors_of(cells: Sequence[Cell], samples: Samples) -> tuple[Floor, ...]:
    """The noise floor of each figure at each rate, from strategies that ran twice."""
    found: dict[tuple[FigureName, float | None], list[Figure]] = {}
    for number, cell in enumerate(cells):
        if not is_run_twice(cell):
            continue
        for figure in figures_of(cell):
            for strategy in TWICE:
                once = samples.costs(number, strategy, figure)
                again = samples.costs(number, strategy, figure, "again")
                ratio = compared(once, again)
                if ratio is not None:
                    found.setdefault((figure, cell.rate_per_s), []).append(ratio)
    return tuple(_floor(figure, rate, ratios) for (figure, rate), ratios in found.items())


def _floor(figure: FigureName, rate_per_s: float | None, ratios: Sequence[Figure]) -> Floor:
    apart = sorted(abs(log(ratio.median)) for ratio in ratios)
    floor = exp(apart[ceil(FLOOR_QUANTILE * len(apart)) - 1]) - 1
    margin = margin_of(floor)
    outcomes: dict[Outcome, int] = {"held": 0, "lost": 0, "undecided": 0}
    for ratio in ratios:
        outcomes[outcome_of(ratio, margin)] += 1
    return Floor(figure, rate_per_s, floor, exp(apart[-1]) - 1, len(apart), outcomes)


def margin_in(floors: Iterable[Floor], figure: FigureName, rate_per_s: float | None) -> float:
    """The margin at a rate; where nothing ran twice there, the figure's largest."""
    margins = {floor.rate_per_s: floor.margin for floor in floors if floor.figure == figure}
    return margins.get(rate_per_s, max(margins.values(), default=SMALLEST_MARGIN))


def verdicts_of(cells: Sequence[Cell], samples: Samples) -> tuple[Verdict, ...]:
    """Every figure of every cell that has been measured."""
    floors = floors_of(cells, samples)
    verdicts = []
    for number, cell in enumerate(cells):
        for figure in figures_of(cell):
            margin = margin_in(floors, figure, cell.rate_per_s)
            verdict = _verdict(samples, number, cell, figure, margin)
            if verdict is not None:
                verdicts.append(verdict)
    return tuple(verdicts)


def undecided_cells(verdicts: Iterable[Verdict]) -> set[int]:
    """The cells that another look may decide, by number."""
    return {verdict.cell for verdict in verdicts if verdict.outcome == "undecided"}


def _verdict(
    samples: Samples, number: int, cell: Cell, figure: FigureName, margin: float
) -> Verdict | None:
    best = best_fixed(samples, number, cell, figure)
    ours = samples.costs(number, OURS, figure)
    if best is None:
        return None
    theirs = samples.costs(number, best, figure)
    ratio = compared(ours, theirs)
    if ratio is None:
        return None
    outcome = outcome_of(ratio, margin)
    return Verdict(
        cell=number,
        figure=figure,
        best=best,
        ratio=ratio,
        rounds=len(paired_ratios(ours, theirs)),
        margin=margin,
        outcome=outcome,
        is_large=outcome == "lost" and ratio.low > 1 + LARGE_LOSS,
        is_blurred=any(is_blurred(samples, number, name, figure) for name in (OURS, best)),
        overloaded=tuple(
            name for name in (OURS, best) if is_overloaded(samples, number, cell, name)
        ),
        net_ratio=_net_ratio(samples, number, best, figure),
        against_all=_against_all(samples, number, cell, figure, margin),
    )


def _against_all(
    samples: Samples, number: int, cell: Cell, figure: FigureName, margin: float
) -> Outcome:
    """The same against every rival at once, from all rounds: nothing is picked.

    Held when it is against each (an intersection-union test needs no correction); lost when it is
    to one of them, each interval's error being divided by their number.
    """
    rivals = fixed_strategies(cell.runtime)
    ours = samples.costs(number, OURS, figure)
    outcomes = set()
    for rival in rivals:
        theirs = samples.costs(number, rival, figure)
        ratio = compared(ours, theirs, all_rounds=True)
        strict_ratio = compared(ours, theirs, all_rounds=True, rivals=len(rivals))
        if ratio is None or strict_ratio is None:
            continue
        plain, strict = outcome_of(ratio, margin), outcome_of(strict_ratio, margin)
        outcomes.add("undecided" if plain == "lost" != strict else plain)
    if "lost" in outcomes:
        return "lost"
    return "held" if outcomes == {"held"} else "undecided"


def is_overloaded(samples: Samples, number: int, cell: Cell, strategy: str) -> bool:
    """Whether the strategy cannot keep up with the cell's rate: it ends ever later.

    What it means to hold the last message counts as late, too: at most 1 ms here.
    """
    if cell.rate_per_s is None:
        return False
    behind_ns = samples.median(number, strategy, lambda run: run.behind_ns)
    return behind_ns is not None and behind_ns > max(
        LEAST_BEHIND_NS, MOST_BEHIND * cell.duration_ns
    )


def is_blurred(samples: Samples, number: int, strategy: str, figure: FigureName) -> bool:
    """Whether the pacer's own error is over a quarter of the latency: it is in both of a ratio."""
    if figure not in ("p50", "p99"):
        return False

    def share(run: Measured) -> float | None:
        pacing, latency = _pacing_and_latency(run, figure)
        return None if pacing is None or not latency else pacing / latency

    found = samples.median(number, strategy, share)
    return found is not None and found > MOST_PACING_ERROR


def _pacing_and_latency(run: Measured, figure: FigureName) -> tuple[int | None, int | None]:
    if figure == "p50":
        return run.pacing_p50_ns, run.p50_ns
    return run.pacing_p99_ns, run.p99_ns


def _net_ratio(samples: Samples, number: int, best: str, figure: FigureName) -> Figure | None:
    """The ratio of p50 without the pacer's p50, which would draw every ratio towards 1."""
    if figure != "p50":
        return None

    def net(strategy: str) -> dict[int, float]:
        return {
            run.round: run.p50_ns - run.pacing_p50_ns
            for run in samples.of_strategy(number, strategy)
            if run.p50_ns is not None
            and run.pacing_p50_ns is not None
            and run.p50_ns > run.pacing_p50_ns
        }

    return compared(net(OURS), net(best))
