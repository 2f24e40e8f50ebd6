"""Runs of strategies whose true costs are known, so that verdicts can be right or wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from math import exp

import msgspec
from claim.grid import COLD, OURS, TWICE, Cell, gathering, has_floor, is_run_cold, is_run_twice
from claim.judging.compare import LOOKS
from claim.plan import FLOOR_ROUNDS
from claim.runs import Measured, Variant

from tinygram_bench._native import Histogram

LOOP = Cell("loop", 10_000.0, "poisson", 1, 100)
FLAT_OUT = Cell("loop", None, None, 64, 100)
EQUAL: Mapping[str, float] = dict.fromkeys(LOOP.strategies, 100_000.0)
PACER_NS = 10_000
"""What the pacer is late with each message."""
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
    floor_ns: float = 1.0,
    rounds: int = LOOKS[0],
    noise: Noise = LITTLE_NOISE,
    seed: int = 1,
) -> list[Measured]:
    """Rounds of all cells; every figure of a strategy is its cost, in ns, times the noise.

    `cpu_ns`: CPU time per message where that is another; `floor_ns`: what the load takes of it.
    """
    lot = random.Random(seed)
    of_cpu = {**costs_ns, **(cpu_ns or {})}
    runs = []
    for round in range(1, rounds + 1):
        for number, cell in enumerate(cells):
            drift = exp(lot.uniform(-0.2, 0.2))
            for strategy in cell.strategies:
                for variant in _variants(cell, strategy):
                    luck = noise(lot) * (1 if variant == "warm" else noise(lot))
                    run = measured(cell, number, strategy, round, costs_ns[strategy] * drift * luck)
                    cpu = rounded(of_cpu[strategy] * drift * luck * run.messages)
                    runs.append(changed(run, variant=variant, cpu_ns=cpu))
            if has_floor(cell) and round <= FLOOR_ROUNDS:
                run = measured(cell, number, gathering(cell.runtime), round, floor_ns)
                runs.append(changed(run, variant="floor"))
    return runs


def _variants(cell: Cell, strategy: str) -> list[Variant]:
    variants: list[Variant] = ["warm"]
    if is_run_twice(cell) and strategy == TWICE:
        variants.append("again")
    if is_run_cold(cell) and strategy in COLD:
        variants.append("cold")
    return variants


def measured(cell: Cell, number: int, strategy: str, round: int, cost_ns: float) -> Measured:
    """One run in which everything costs the same."""
    messages = 1_000
    run = Measured(
        cell=number,
        strategy=strategy,
        variant="warm",
        round=round,
        messages=messages,
        run_time_ns=rounded(cost_ns * messages),
        cpu_ns=rounded(cost_ns * messages),
        writes=messages // 2 if strategy == OURS else messages,
        hold_mean_ns=2_000.0 if strategy == OURS else None,
        holds=messages // 4 if strategy == OURS else 0,
    )
    if cell.rate_per_s is None:
        return run
    latency = Histogram()
    latency.record(rounded(cost_ns))
    return changed(
        run,
        p50_ns=rounded(cost_ns),
        p99_ns=rounded(cost_ns),
        delay_mean_ns=rounded(cost_ns),
        gross_p50_ns=rounded(cost_ns) + PACER_NS,
        gross_p99_ns=rounded(cost_ns) + PACER_NS,
        behind_ns=0,
        pacing_p50_ns=PACER_NS,
        pacing_p99_ns=PACER_NS,
        latency=latency.to_base64() if round % 2 == 0 else None,
    )


def changed(run: Measured, **fields: object) -> Measured:
    """The same run but for some fields."""
    return msgspec.structs.replace(run, **fields)


def late(runs: Sequence[Measured], *strategies: str) -> list[Measured]:
    """The same world, in which these strategies cannot keep up."""
    return [
        changed(run, behind_ns=50_000_000) if run.strategy in strategies else run for run in runs
    ]


def rounded(value: float) -> int:
    """A whole number."""
    return int(value + 0.5)
