"""One run of a strategy in a cell: the few numbers that are kept of it."""

from __future__ import annotations

from typing import Literal

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Run
from tinygram_bench.model.value import Value

Variant = Literal["warm", "again", "cold", "floor"]
"""`again`: the same once more; `cold`: by fresh processes; `floor`: all messages leave with the
last one, so that only what the load itself takes is used."""


class Measured(Value, frozen=True, array_like=True):
    """What a strategy did in one round of a cell. Times are in ns; null: not known, or flat out.

    `cell` is the cell's number in the grid. Latencies are from due to received, without what the
    pacer was late with each message; `gross_…` with it. `behind_ns`: how much later than the last
    message's due time it arrived. `delay_mean_ns`: the mean latency. `hold_mean_ns`: of each
    batch's first message. `latency`: the latencies of an even round as a histogram (base64).
    `warnings`: the codes of the run's warnings.
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
    gross_p50_ns: int | None = None
    gross_p99_ns: int | None = None
    behind_ns: int | None = None
    hold_mean_ns: float | None = None
    holds: int = 0
    pacing_p50_ns: int | None = None
    pacing_p99_ns: int | None = None
    latency: str | None = None
    warnings: tuple[str, ...] = ()

    @staticmethod
    def of(run: Run, cell: int, strategy: str, variant: Variant) -> Measured:
        """Keep what is needed of a run of the bench."""
        if run.failure is not None:
            return Measured(cell, strategy, variant, run.round, run.failure)
        counters = run.counters
        run_time_ns = counters["run_time_ns"] or 0
        last_due_ns = counters.get("last_due_ns")
        gross = _histogram(run, "latency_ns")
        latency = _histogram(run, "net_latency_ns")
        pacing = _histogram(run, "pacing_error_ns")
        holds = _histogram(run, "hold_ns")
        is_kept = variant == "warm" and run.round % 2 == 0
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
            gross_p50_ns=gross and gross.percentile_ns(50),
            gross_p99_ns=gross and gross.percentile_ns(99),
            behind_ns=None if last_due_ns is None else run_time_ns - last_due_ns,
            hold_mean_ns=holds and holds.mean_ns,
            holds=holds.count if holds else 0,
            pacing_p50_ns=pacing and pacing.percentile_ns(50),
            pacing_p99_ns=pacing and pacing.percentile_ns(99),
            latency=run.histograms.get("net_latency_ns") if is_kept else None,
            warnings=tuple(sorted({warning.code for warning in run.warnings})),
        )


def _histogram(run: Run, name: str) -> Histogram | None:
    text = run.histograms.get(name)
    return None if text is None else Histogram.from_base64(text)
