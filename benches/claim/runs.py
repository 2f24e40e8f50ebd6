"""One run of a strategy in a cell: the few numbers that are kept of it."""

from __future__ import annotations

from typing import Literal

from tinygram._native import Histogram
from tinygram.bench.result import Run, Value

Variant = Literal["warm", "again", "cold"]
"""`again`: the same once more; `cold`: by fresh processes."""


class Measured(Value, frozen=True, array_like=True):
    """What a strategy did in one round of a cell. Times are in ns; null: not known, or flat out.

    `cell` is the cell's number in the grid. `behind_ns`: how much later than the last message's due
    time it arrived. `delay_mean_ns`: from due to received. `hold_mean_ns`: of each batch's first
    message.
    """

    cell: int
    strategy: str
    variant: Variant
    round: int
    failure: str | None = None
    messages: int = 0
    run_time_ns: int = 0
    cpu_ns: int = 0
    writes: int | None = None
    p50_ns: int | None = None
    p99_ns: int | None = None
    delay_mean_ns: float | None = None
    behind_ns: int | None = None
    hold_mean_ns: float | None = None
    holds: int = 0
    pacing_p50_ns: int | None = None
    pacing_p99_ns: int | None = None

    @staticmethod
    def of(run: Run, cell: int, strategy: str, variant: Variant) -> Measured:
        """Keep what is needed of a run of the bench."""
        if run.failure is not None:
            return Measured(cell, strategy, variant, run.round, run.failure)
        counters = run.counters
        run_time_ns = counters["run_time_ns"] or 0
        last_due_ns = counters.get("last_due_ns")
        latency = _histogram(run, "latency_ns")
        pacing = _histogram(run, "pacing_error_ns")
        holds = _histogram(run, "hold_ns")
        return Measured(
            cell=cell,
            strategy=strategy,
            variant=variant,
            round=run.round,
            messages=counters["messages"] or 0,
            run_time_ns=run_time_ns,
            cpu_ns=counters["cpu_ns"] or 0,
            writes=counters["writes"],
            p50_ns=latency and latency.percentile_ns(50),
            p99_ns=latency and latency.percentile_ns(99),
            delay_mean_ns=latency and latency.mean_ns,
            behind_ns=None if last_due_ns is None else run_time_ns - last_due_ns,
            hold_mean_ns=holds and holds.mean_ns,
            holds=holds.count if holds else 0,
            pacing_p50_ns=pacing and pacing.percentile_ns(50),
            pacing_p99_ns=pacing and pacing.percentile_ns(99),
        )


def _histogram(run: Run, name: str) -> Histogram | None:
    text = run.histograms.get(name)
    return None if text is None else Histogram.from_base64(text)
