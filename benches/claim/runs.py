"""What a strategy cost in each slice of a round: the few numbers that are kept of a run."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Literal

import msgspec

from claim.grid import Cell
from claim.planned import PlannedRun
from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Run
from tinygram_bench.model.value import Value
from tinygram_bench.runs.slice_figures import LATE_US

FigureName = Literal["sum", "p50", "p99", "cpu", "throughput"]
"""`sum`: mean delay + CPU time of a message; `throughput`: as a cost, the time per message."""
Costs = Mapping[FigureName, tuple[float | None, ...]]
"""Figure → its cost in each slice in ns, less is better; None: not known there."""

_SLICES: dict[Literal[FigureName, "delay"], tuple[str, float]] = {
    "p50": ("net_latency_p50_us", 1e3),
    "p99": ("net_latency_p99_us", 1e3),
    "delay": ("net_latency_mean_us", 1e3),
    "cpu": ("cpu_s_per_million", 1e3),
}
"""Figure → the bench's figure of slices, and how many nanoseconds its unit is."""
_THROUGHPUT = "throughput_per_s"
_COUNTERS = ("messages", "writes", "write_cpu_ns", "holds", "hold_mean_ns")


class Measured(Value, frozen=True):
    """What a strategy did in one round of a cell, which is the cell's number in the grid.

    Rounds count from 1. `costs`: figure → its cost in each slice, in ns; of p99 in each block of
    slices. `late_ns`: how long after the ends of slices their last messages came, the median.
    `hold_mean_ns`: of each batch's first message, if it was held; `holds`: how many were.
    `write_cpu_ns`: the CPU time of all writes. None: not known. `warnings`: the codes of the run's
    warnings.
    """

    run: PlannedRun
    round: int
    failure: str | None = None
    costs: Costs = msgspec.field(default_factory=dict)
    late_ns: float | None = None
    messages: int = 0
    writes: int | None = None
    hold_mean_ns: float | None = None
    holds: int | None = None
    write_cpu_ns: int | None = None
    warnings: tuple[str, ...] = ()

    @property
    def writes_per_message(self) -> float | None:
        """None: not known."""
        return None if self.writes is None else self.writes / self.messages

    @property
    def at_once_share(self) -> float | None:
        """The share of the messages that were not held: each was written by itself, at once."""
        if self.holds is None or self.writes is None or not self.messages:
            return None
        return min(1.0, max(0.0, (self.writes - self.holds) / self.messages))

    @property
    def held_ns(self) -> float | None:
        """The mean hold of all messages, each as long as the first one of its batch."""
        at_once = self.at_once_share
        return None if at_once is None else (1 - at_once) * (self.hold_mean_ns or 0.0)

    @staticmethod
    def of(run: Run, planned: PlannedRun, cell: Cell) -> Measured:
        """From a run as the result file has it (`slimmed`)."""
        round = run.round + 1
        if run.failure is not None:
            return Measured(planned, round, run.failure)
        return Measured(
            planned,
            round,
            costs=_costs(run, cell),
            late_ns=median(each * 1e3 for each in run.slices[LATE_US] if each is not None),
            messages=run.counters["messages"] or 0,
            writes=run.counters["writes"],
            hold_mean_ns=run.counters["hold_mean_ns"],
            holds=run.counters.get("holds"),
            write_cpu_ns=run.counters.get("write_cpu_ns"),
            warnings=tuple(sorted({warning.code for warning in run.warnings})),
        )


def _costs(run: Run, cell: Cell) -> Costs:
    if cell.rate_per_s is None:
        per_s = run.slices[_THROUGHPUT]
        return {"throughput": tuple(1e9 / each if each else None for each in per_s)}
    found = {
        figure: tuple(None if each is None else each * unit_ns for each in run.slices[name])
        for figure, (name, unit_ns) in _SLICES.items()
    }
    both = zip(found["delay"], found["cpu"], strict=True)
    return {
        "sum": tuple(None if a is None or b is None else a + b for a, b in both),
        "p50": found["p50"],
        "p99": found["p99"],
        "cpu": found["cpu"],
    }


def slimmed(run: Run) -> Run:
    """What is kept of a run of the bench: there are tens of thousands, of a few numbers each."""
    if run.failure is not None:
        return run
    hold = run.histograms.get("hold_ns")
    counters = dict(run.counters)
    held = None if hold is None else Histogram.from_base64(hold)
    counters["holds"] = 0 if held is None else held.count
    counters["hold_mean_ns"] = None if held is None else round(held.mean_ns)
    names = (*(name for name, _ in _SLICES.values()), _THROUGHPUT, LATE_US)
    return msgspec.structs.replace(
        run,
        counters={name: counters.get(name) for name in _COUNTERS},
        histograms={},
        slices={
            name: tuple(None if each is None else float(f"{each:.5g}") for each in run.slices[name])
            for name in names
            if name in run.slices
        },
        samples=None,
    )
