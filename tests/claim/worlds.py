"""Runs of strategies whose true costs are known, so that verdicts can be right or wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from math import exp

import msgspec
from claim.code import code
from claim.grid import OURS, SETS, Cell
from claim.judging.compare import LOOKS
from claim.planned import all_runs, runs_of_cell
from claim.result import ClaimResult, judge
from claim.runs import Costs, FigureName, Measured

CYCLES = 10
"""Slices of each run."""
LOOP = Cell("loop", 10_000.0, "poisson", 1, 100)
FLAT_OUT = Cell("loop", None, None, 64, 100)
EQUAL: Mapping[str, float] = dict.fromkeys(LOOP.strategies, 100_000.0)
CELLS = (LOOP, FLAT_OUT, Cell("threads", 50_000.0, "onoff", 4, 100))
COSTS = {**EQUAL, "combine": 100_000.0}
"""What each strategy of `CELLS` costs, in ns."""
Noise = Callable[[random.Random], float]


def even_noise(spread: float) -> Noise:
    """A log-uniform factor, symmetrical around 1."""
    return lambda lot: exp(lot.uniform(-spread, spread))


LITTLE_NOISE = even_noise(0.01)


def heavy_noise(spread: float) -> Noise:
    """Now and then ten times as far: as a shared host does."""
    return lambda lot: exp(lot.uniform(-spread, spread) * (10 if lot.random() < 0.1 else 1))


def runs_of(
    cells: Sequence[Cell],
    costs_ns: Mapping[str, float] = EQUAL,
    *,
    cpu_ns: Mapping[str, float] | None = None,
    rounds: int = LOOKS[0],
    noise: Noise = LITTLE_NOISE,
    seed: int = 1,
    first: int = 0,
) -> list[Measured]:
    """Rounds of all cells, numbered from `first`: each figure of a strategy costs that in each
    slice, in ns, times the noise of its round and of the slice.

    Delay is what is no CPU time of the sum, `cpu_ns`, which is half of it unless it is given.
    """
    lot = random.Random(seed)
    runs = []
    for round in range(1, rounds + 1):
        for number, cell in enumerate(cells, first):
            drift = exp(lot.uniform(-0.2, 0.2))
            for planned in runs_of_cell(number, cell, cell.strategies):
                luck = drift * noise(lot)
                cost_ns = costs_ns[planned.strategy]
                cpu = (cpu_ns or {}).get(planned.strategy, cost_ns / 2)
                found = _costs(cell, cost_ns * luck, cpu * luck, noise, lot)
                runs.append(
                    Measured(
                        planned,
                        round,
                        costs=found,
                        late_ns=0.0,
                        messages=1_000,
                        writes=500 if planned.strategy == OURS else 1_000,
                        hold_mean_ns=2_000.0 if planned.strategy == OURS else None,
                    )
                )
    return runs


def _costs(cell: Cell, cost_ns: float, cpu_ns: float, noise: Noise, lot: random.Random) -> Costs:
    def slices(value: float) -> tuple[float, ...]:
        return tuple(value * noise(lot) for _ in range(CYCLES))

    if cell.rate_per_s is None:
        return {"throughput": slices(cost_ns)}
    delay_ns = cost_ns - cpu_ns
    return {
        "sum": slices(cost_ns),
        "p50": slices(delay_ns),
        "p99": slices(delay_ns)[:1],
        "cpu": slices(cpu_ns),
    }


def changed(run: Measured, **fields: object) -> Measured:
    """The same run but for some fields."""
    return msgspec.structs.replace(run, **fields)


def scaled(run: Measured, figure: FigureName, factor: float) -> Measured:
    """The same run, in which a figure costs so many times as much."""
    slices = tuple(None if each is None else each * factor for each in run.costs[figure])
    return changed(run, costs={**run.costs, figure: slices})


def late(runs: Sequence[Measured], *strategies: str) -> list[Measured]:
    """The same world, in which these strategies cannot keep up."""
    return [
        changed(run, late_ns=50_000_000.0) if run.run.strategy in strategies else run
        for run in runs
    ]


def result_of(runs: Sequence[Measured]) -> ClaimResult:
    """What is judged of runs of `CELLS`."""
    return ClaimResult(
        grid="full",
        set=SETS["tuning"],
        cells=CELLS,
        cases=tuple(run.case(CELLS, "same") for run in all_runs(CELLS)),
        code=code(),
        environment={"kernel": "6.1"},
        started_at="2026-01-01T00:00:00Z",
        is_early=False,
        earlier=(),
        judged=judge(CELLS, runs),
        judged_by=code().judge_sha256,
        runs=tuple(runs),
    )


def each_best_once(ours: float) -> list[Measured]:
    """`nodelay` is the best in the first cell, `nagle` in the others, all else ten times as dear.

    Ours costs so much in the first cell, and half of the best in the others.
    """
    runs = []
    for number, cell in enumerate(CELLS):
        costs = dict.fromkeys(COSTS, 1_000_000.0)
        costs["nagle" if number else "nodelay"] = 100_000.0
        costs[OURS] = 50_000.0 if number else ours
        runs += runs_of([cell], costs, first=number)
    return runs
