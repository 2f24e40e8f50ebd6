"""How the values of a histogram spread, in a run or in several together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Run
from tinygram_bench.statistics.figures.counters import Number

TAIL_PER_MILLION = {"p50": 500_000, "p99": 10_000, "p99_9": 1_000, "p99_99": 100}
TOLD_PERCENTILES = tuple(100 - beyond / 10_000 for beyond in TAIL_PER_MILLION.values())
"""The percentiles that are told of a run."""


class Spread(Struct, frozen=True):
    """How the values of one histogram of a run spread; `us`: a statistic of them, in µs."""

    count: int
    us: Callable[[str], Number]


def spread_of(run: Run, name: str) -> Spread | None:
    """The spread of the histogram `name`, without its unit; None where it has no values.

    In a condensed result it comes from the figures in the histogram's place. Raises ValueError
    where the histogram cannot be read.
    """
    if run.figures:
        count = run.sample_counts.get(f"{name}_ns", 0)
        return Spread(count, lambda of: run.figures.get(f"{name}_{of}_us")) if count else None
    histogram = _histogram(run, name)
    if histogram is None:
        return None
    return Spread(histogram.count, lambda of: _statistic(histogram, of))


class Measured(Protocol):
    """A run, or a part of one."""

    @property
    def histograms(self) -> Mapping[str, str]: ...


def pooled(measured: Iterable[Measured], name: str) -> Histogram:
    """The values of a histogram, named with its unit, in all of these together."""
    found = Histogram()
    for each in measured:
        if name in each.histograms:
            found.merge(Histogram.from_base64(each.histograms[name]))
    return found


def pooled_statistic(name: str, statistic: str, runs: Iterable[Run]) -> Number:
    """A statistic of a histogram's values in all `runs` together, in µs; None: there are none."""
    found = pooled(runs, f"{name}_ns")
    return _statistic(found, statistic) if found.count else None


def _histogram(run: Run, name: str) -> Histogram | None:
    text = run.histograms.get(f"{name}_ns")
    histogram = Histogram.from_base64(text) if text is not None else None
    return histogram if histogram is not None and histogram.count else None


def _statistic(histogram: Histogram, name: str) -> float:
    """One statistic of a histogram of nanoseconds, in microseconds."""
    if name in TAIL_PER_MILLION:
        return histogram.percentile_ns(100 - TAIL_PER_MILLION[name] / 10_000) / 1_000
    of_all = {"min": histogram.min_ns, "mean": histogram.mean_ns, "max": histogram.max_ns}
    return of_all[name] / 1_000
