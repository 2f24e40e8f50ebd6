"""One run of a strategy in a cell: the few numbers that are kept of it."""

from __future__ import annotations

from typing import Literal

import msgspec

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
        """From a run as the result file has it (`slimmed`). Rounds count from 1 here."""
        round = run.round + 1
        if run.failure is not None:
            return Measured(cell, strategy, variant, round, run.failure)
        found = run.counters
        return Measured(
            cell=cell,
            strategy=strategy,
            variant=variant,
            round=round,
            messages=found["messages"] or 0,
            run_time_ns=found["run_time_ns"] or 0,
            cpu_ns=found["cpu_ns"] or 0,
            writes=found["writes"],
            p50_ns=found["net_latency_p50_ns"],
            p99_ns=found["net_latency_p99_ns"],
            delay_mean_ns=found["net_latency_mean_ns"],
            gross_p50_ns=found["latency_p50_ns"],
            gross_p99_ns=found["latency_p99_ns"],
            behind_ns=found["behind_ns"],
            hold_mean_ns=found["hold_mean_ns"],
            holds=found["holds"] or 0,
            pacing_p50_ns=found["pacing_error_p50_ns"],
            pacing_p99_ns=found["pacing_error_p99_ns"],
            latency=run.histograms.get("net_latency_ns"),
            warnings=tuple(sorted({warning.code for warning in run.warnings})),
        )


def slimmed(run: Run, variant: Variant) -> Run:
    """What is kept of a run of the bench: there are tens of thousands, of a few numbers each.

    The latencies stay as a histogram in every second round, counted from 1.
    """
    if run.failure is not None:
        return run
    counters = run.counters
    last_due_ns, run_time_ns = counters.get("last_due_ns"), counters["run_time_ns"] or 0
    hold = _histogram(run, "hold_ns")
    kept = {name: counters[name] for name in ("messages", "run_time_ns", "cpu_ns", "writes")}
    kept |= {
        "behind_ns": None if last_due_ns is None else run_time_ns - last_due_ns,
        "hold_mean_ns": hold and round(hold.mean_ns),
        "holds": hold.count if hold else 0,
    }
    for name in ("net_latency", "latency", "pacing_error"):
        histogram = _histogram(run, f"{name}_ns")
        kept[f"{name}_p50_ns"] = histogram and histogram.percentile_ns(50)
        kept[f"{name}_p99_ns"] = histogram and histogram.percentile_ns(99)
        kept[f"{name}_mean_ns"] = histogram and round(histogram.mean_ns)
    is_kept = variant == "warm" and run.round % 2 == 1
    texts = (
        {"net_latency_ns": run.histograms["net_latency_ns"]}
        if is_kept and "net_latency_ns" in run.histograms
        else {}
    )
    return msgspec.structs.replace(run, counters=kept, histograms=texts, samples=None)


def _histogram(run: Run, name: str) -> Histogram | None:
    text = run.histograms.get(name)
    return None if text is None else Histogram.from_base64(text)
