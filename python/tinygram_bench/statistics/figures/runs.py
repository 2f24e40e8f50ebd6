"""The figures of one run, from its raw counters and histograms.

The names are the result file's contract; units come last. A figure is None where the run does not
know it (a counter not permitted here) or where it would mislead (latency while flat out).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.counters import FORMULAS, PER_MILLION, Number
from tinygram_bench.statistics.figures.spreads import (
    TAIL_PER_MILLION,
    pooled_statistic,
    spread_of,
)
from tinygram_bench.statistics.figures.stalls import STALLED_SHARE, stalled_share
from tinygram_bench.statistics.workloads import WORKLOADS

FLAT_OUT_ONLY = ("throughput_per_s", "run_time_s")
PACED_ONLY = ("messages_per_release",)
MIN_SAMPLES_BEYOND = 10
STATISTIC_OF_FIGURE = {
    f"{histogram}_{statistic}_us": (histogram, statistic)
    for workload in WORKLOADS.values()
    for histogram, statistics in workload.histograms.items()
    for statistic in statistics
}


class RunFigures(Struct, frozen=True):
    """One run's figures, name → value, and how many samples each of its histograms holds."""

    values: Mapping[str, Number]
    sample_counts: Mapping[str, int]


def figures_of(case: Case, run: Run) -> RunFigures:
    """The figures of one good run; ValueError where a histogram cannot be read."""
    workload = WORKLOADS[case.workload]
    names = [name for name in workload.histograms if _is_meaningful(name, case)]
    spreads = {name: spread for name in names if (spread := spread_of(run, name)) is not None}
    values = {name: formula(run.counters) for name, formula in FORMULAS.items()}
    for name in FLAT_OUT_ONLY if not case.is_flat_out else PACED_ONLY:
        values[name] = None
    for figure, (name, statistic) in STATISTIC_OF_FIGURE.items():
        values[figure] = spreads[name].us(statistic) if name in spreads else None
    values[STALLED_SHARE] = run.figures.get(STALLED_SHARE, stalled_share(run.slices))
    values |= workload.computed(case, run, values)
    return RunFigures(values, {name: spread.count for name, spread in spreads.items()})


def condensed_figures(case: Case, run: Run) -> dict[str, float]:
    """The figures that replace the histograms and slices of a good run, for `Run.figures`.

    They are those of `figures_of`, and each histogram's mean, which tells where a message spent its
    time. ValueError where a histogram cannot be read.
    """
    values = figures_of(case, run).values
    found = {name: values[name] for name in (*STATISTIC_OF_FIGURE, STALLED_SHARE)}
    for name in WORKLOADS[case.workload].histograms:
        spread = spread_of(run, name)
        found[f"{name}_mean_us"] = None if spread is None else spread.us("mean")
    return {name: value for name, value in found.items() if value is not None}


def figure_names(name: str) -> tuple[str, ...]:
    """The names of the figures in a summary of this workload."""
    workload = WORKLOADS[name]
    spread = (
        f"{histogram}_{statistic}_us"
        for histogram, statistics in workload.histograms.items()
        for statistic in statistics
    )
    return (*workload.counted, *spread, *workload.modelled)


def has_enough_samples(figure: str, sample_counts: Mapping[str, int]) -> bool:
    """Whether the samples suffice for `figure`: a percentile needs ten of them beyond it."""
    histogram, statistic = STATISTIC_OF_FIGURE.get(figure, ("", ""))
    if statistic not in TAIL_PER_MILLION:
        return True
    beyond_millionths = sample_counts.get(histogram, 0) * TAIL_PER_MILLION[statistic]
    return beyond_millionths >= MIN_SAMPLES_BEYOND * PER_MILLION


def is_extreme(figure: str) -> bool:
    return STATISTIC_OF_FIGURE.get(figure, ("", ""))[1] in ("min", "max")


def pooled_figure(figure: str, runs: Iterable[Run]) -> Number:
    """A histogram's statistic over the samples of all `runs` together."""
    return pooled_statistic(*STATISTIC_OF_FIGURE[figure], runs)


def is_higher_better(figure: str) -> bool:
    """Rates per second are better high; every duration and cost is better low."""
    return figure.endswith("_per_s")


def _is_meaningful(histogram: str, case: Case) -> bool:
    """Latency and pacing exist only when paced; queueing is what a flat-out sender makes.

    With several paced producers, queueing is the time from the call: a thread may be late to call.
    """
    if histogram == "queueing":
        return case.is_flat_out or case.producers > 1
    return histogram not in ("latency", "pacing_error") or not case.is_flat_out
