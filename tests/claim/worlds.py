"""Runs of strategies whose true costs are known, so that verdicts can be right or wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from math import exp

from claim.grid import OURS, TWICE, Cell, is_run_twice
from claim.judge import LOOKS
from claim.runs import Measured, Variant

LOOP = Cell("loop", 10_000.0, "poisson", 1, 100)
FLAT_OUT = Cell("loop", None, None, 64, 100)
EQUAL: Mapping[str, float] = dict.fromkeys(LOOP.strategies, 100_000.0)
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
    rounds: int = LOOKS[0],
    noise: Noise = LITTLE_NOISE,
    seed: int = 1,
) -> list[Measured]:
    """Rounds of all cells; every figure of a strategy is its cost, in ns, times the noise."""
    lot = random.Random(seed)
    runs = []
    for round in range(1, rounds + 1):
        for number, cell in enumerate(cells):
            drift = exp(lot.uniform(-0.2, 0.2))
            for strategy in cell.strategies:
                variants: list[Variant] = ["warm"]
                if is_run_twice(cell) and strategy in TWICE:
                    variants.append("again")
                for variant in variants:
                    cost_ns = costs_ns[strategy] * drift * noise(lot)
                    runs.append(measured(cell, number, strategy, variant, round, cost_ns))
    return runs


def measured(
    cell: Cell, number: int, strategy: str, variant: Variant, round: int, cost_ns: float
) -> Measured:
    """One run in which everything costs the same."""
    is_paced = cell.rate_per_s is not None
    messages = 1_000
    return Measured(
        cell=number,
        strategy=strategy,
        variant=variant,
        round=round,
        messages=messages,
        run_time_ns=round_ns(cost_ns * messages),
        cpu_ns=round_ns(cost_ns * messages),
        writes=messages // 2 if strategy == OURS else messages,
        p50_ns=round_ns(cost_ns) if is_paced else None,
        p99_ns=round_ns(cost_ns) if is_paced else None,
        delay_mean_ns=cost_ns if is_paced else None,
        behind_ns=0 if is_paced else None,
        hold_mean_ns=2_000.0 if strategy == OURS else None,
        holds=messages // 4 if strategy == OURS else 0,
        pacing_p50_ns=100 if is_paced else None,
        pacing_p99_ns=100 if is_paced else None,
    )


def round_ns(value: float) -> int:
    """A whole number."""
    return int(value + 0.5)
