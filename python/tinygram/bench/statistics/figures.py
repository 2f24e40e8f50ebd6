"""What one run says: its figures, from its raw counters and histograms.

The names are the result file's contract; units come last. A figure is None where the run does not
know it (a counter not permitted here) or where it would mislead (latency while flat out).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinygram._native import Histogram
from tinygram.bench.result import Case, Run

Counters = Mapping[str, int | None]
Number = float | None

MIN_SAMPLES_BEYOND = 10
PER_MILLION = 1_000_000
TAIL_PER_MILLION = {"p50": 500_000, "p99": 10_000, "p99_9": 1_000, "p99_99": 100}
SPREAD = ("min", "mean", *TAIL_PER_MILLION, "max")
STATISTICS_OF_HISTOGRAM = {
    "latency": SPREAD,
    "queueing": SPREAD,
    "pacing_error": ("p50", "p99"),
    "hold": ("p50", "p99"),
}


@dataclass(frozen=True)
class RunFigures:
    """One run's figures, name → value, and how many samples each of its histograms holds."""

    values: Mapping[str, Number]
    sample_counts: Mapping[str, int]


def figures_of(case: Case, run: Run) -> RunFigures:
    """The figures of one good run; ValueError where a histogram cannot be read."""
    histograms = {
        name: _histogram(run, name)
        for name in STATISTICS_OF_HISTOGRAM
        if _is_meaningful(name, case)
    }
    values = {name: formula(run.counters) for name, formula in FORMULAS.items()}
    for name in _FLAT_OUT_ONLY if not case.is_flat_out else _PACED_ONLY:
        values[name] = None
    for name, statistics in STATISTICS_OF_HISTOGRAM.items():
        histogram = histograms.get(name)
        values |= {f"{name}_{each}_us": _statistic(histogram, each) for each in statistics}
    counts = {name: histogram.count for name, histogram in histograms.items() if histogram}
    return RunFigures(values, counts)


def has_enough_samples(figure: str, sample_counts: Mapping[str, int]) -> bool:
    """Whether the pooled samples support `figure`: a percentile needs ten of them beyond it."""
    for name, statistics in STATISTICS_OF_HISTOGRAM.items():
        for each in statistics:
            if figure == f"{name}_{each}_us" and each in TAIL_PER_MILLION:
                beyond_millionths = sample_counts.get(name, 0) * TAIL_PER_MILLION[each]
                return beyond_millionths >= MIN_SAMPLES_BEYOND * PER_MILLION
    return True


def is_higher_better(figure: str) -> bool:
    """Rates per second are better high; every duration and cost is better low."""
    return figure.endswith("_per_s")


def _is_meaningful(histogram: str, case: Case) -> bool:
    """Queueing is what a flat-out sender makes; latency and pacing exist only when paced."""
    if histogram == "hold":
        return True
    return case.is_flat_out == (histogram == "queueing")


def _histogram(run: Run, name: str) -> Histogram | None:
    text = run.histograms.get(f"{name}_ns")
    histogram = Histogram.from_base64(text) if text is not None else None
    return histogram if histogram is not None and histogram.count else None


def _statistic(histogram: Histogram | None, name: str) -> Number:
    """One statistic of a histogram of nanoseconds, in microseconds."""
    if histogram is None:
        return None
    if name in TAIL_PER_MILLION:
        return histogram.percentile_ns(100 - TAIL_PER_MILLION[name] / 10_000) / 1_000
    of_all = {"min": histogram.min_ns, "mean": histogram.mean_ns, "max": histogram.max_ns}
    return of_all[name] / 1_000


def _quotient(over: str, under: str, scale: float = 1.0) -> Callable[[Counters], Number]:
    """`over` ÷ `under` × `scale`; None where either is not known or `under` is 0."""

    def formula(counters: Counters) -> Number:
        top, bottom = counters.get(over), counters.get(under)
        return None if top is None or not bottom else top / bottom * scale

    return formula


def _scaled(counter: str, scale: float = 1.0) -> Callable[[Counters], Number]:
    def formula(counters: Counters) -> Number:
        value = counters.get(counter)
        return None if value is None else value * scale

    return formula


def _context_switches_per_million(counters: Counters) -> Number:
    voluntary = counters.get("voluntary_context_switches")
    involuntary = counters.get("involuntary_context_switches")
    messages = counters.get("messages")
    if voluntary is None or involuntary is None or not messages:
        return None
    return (voluntary + involuntary) / messages * PER_MILLION


_FLAT_OUT_ONLY = ("throughput_per_s", "run_time_s")
_PACED_ONLY = ("messages_per_release",)
FORMULAS: Mapping[str, Callable[[Counters], Number]] = {
    "throughput_per_s": _quotient("messages", "run_time_ns", 1e9),
    "run_time_s": _scaled("run_time_ns", 1e-9),
    "messages_per_write": _quotient("messages", "writes"),
    "writes": _scaled("writes"),
    "bytes_per_read": _quotient("bytes", "reads"),
    "cpu_s_per_million": _quotient("cpu_ns", "messages", PER_MILLION / 1e9),
    "receiver_cpu_s_per_million": _quotient("receiver_cpu_ns", "messages", PER_MILLION / 1e9),
    "messages_per_segment": _quotient("messages", "data_segments"),
    "context_switches_per_million": _context_switches_per_million,
    "messages_per_release": _quotient("messages", "releases"),
    "connect_us": _scaled("connect_ns", 1e-3),
    "startup_ms": _scaled("startup_ns", 1e-6),
    "delayed_acks": _scaled("kernel_DelayedACKs"),
}
