"""The figures of one run, from its raw counters and histograms.

The names are the result file's contract; units come last. A figure is None where the run does not
know it (a counter not permitted here) or where it would mislead (latency while flat out).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.counters import FORMULAS, PER_MILLION, Number
from tinygram_bench.statistics.figures.stalls import STALLED_SHARE, stalled_share
from tinygram_bench.statistics.workloads import WORKLOADS

FLAT_OUT_ONLY = ("throughput_per_s", "run_time_s")
PACED_ONLY = ("messages_per_release",)
MIN_SAMPLES_BEYOND = 10
TAIL_PER_MILLION = {"p50": 500_000, "p99": 10_000, "p99_9": 1_000, "p99_99": 100}
TOLD_PERCENTILES = tuple(100 - beyond / 10_000 for beyond in TAIL_PER_MILLION.values())
"""The percentiles that are told of a run."""
STATISTIC_OF_FIGURE = {
    f"{histogram}_{statistic}_us": (histogram, statistic)
    for workload in WORKLOADS.values()
    for histogram, statistics in workload.histograms.items()
    for statistic in statistics
}


class Spread(Struct, frozen=True):
    """How the values of one histogram of a run spread; `us`: a statistic of them, in µs."""

    count: int
    us: Callable[[str], Number]


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
    name, statistic = STATISTIC_OF_FIGURE[figure]
    pooled = Histogram()
    for run in runs:
        histogram = _histogram(run, name)
        if histogram is not None:
            pooled.merge(histogram)
    return _statistic(pooled, statistic) if pooled.count else None


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
