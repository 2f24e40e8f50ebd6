"""Summaries: what all rounds of a case say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from tinygram.bench.result import Figure, Plan, Run, Summary, Warning
from tinygram.bench.statistics.figures import FORMULAS, STATISTICS_OF_HISTOGRAM
from tinygram.bench.statistics.intervals import confidence_of, figure_of
from tinygram.bench.statistics.modes import find_modes
from tinygram.bench.statistics.samples import Sample, samples_of

MAX_PACING_ERROR_SHARE = 0.25
FIGURE_NAMES = (
    *FORMULAS,
    *(f"{name}_{each}_us" for name, of in STATISTICS_OF_HISTOGRAM.items() for each in of),
)


def summarise(plan: Plan, runs: Sequence[Run]) -> tuple[Summary, ...]:
    """One summary per case of the plan, in its order; a case without a good run has no figures.

    `Summary.rounds` counts the good rounds. Raises what `samples_of` and `figures_of` raise.
    """
    return tuple(_summary(sample) for sample in samples_of(plan, runs).values())


def _summary(sample: Sample) -> Summary:
    figures = {name: _figure(sample, name) for name in FIGURE_NAMES}
    warnings = (*_run_warnings(sample), *_pacing_warnings(figures), *_mode_warnings(sample))
    return Summary(
        case=sample.case,
        rounds=len(sample.rounds),
        failed_rounds=sample.failed_rounds,
        confidence=confidence_of(len(sample.rounds)),
        figures=figures,
        warnings=warnings,
    )


def _figure(sample: Sample, name: str) -> Figure | None:
    values = sample.values(name)
    return figure_of(tuple(values.values())) if values else None


def _run_warnings(sample: Sample) -> tuple[Warning, ...]:
    """The runs' warnings, one per code: the first message, and in how many rounds it came up."""
    by_code: dict[str, list[Warning]] = {}
    rounds: dict[str, int] = {}
    for run in sample.good_runs:
        for warning in run.warnings:
            by_code.setdefault(warning.code, []).append(warning)
        for code in {warning.code for warning in run.warnings}:
            rounds[code] = rounds.get(code, 0) + 1
    return tuple(
        Warning(
            code=code,
            message=f"{same[0].message} (in {rounds[code]} of {len(sample.good_runs)} rounds)",
            figures=tuple(dict.fromkeys(figure for each in same for figure in each.figures)),
        )
        for code, same in by_code.items()
    )


def _pacing_warnings(figures: Mapping[str, Figure | None]) -> tuple[Warning, ...]:
    """A pacer that is late by over a quarter of the latency would be what a verdict is about.

    Like is set against like: the error's median bears on the latency's middle, its p99 on the tail.
    """
    blurred: tuple[str, ...] = ()
    shares = []
    for percentile, prefixes in (
        ("p50", ("latency_min", "latency_mean", "latency_p50")),
        ("p99", ("latency_p99", "latency_max")),
    ):
        error = figures[f"pacing_error_{percentile}_us"]
        latency = figures[f"latency_{percentile}_us"]
        if error and latency and error.median > MAX_PACING_ERROR_SHARE * latency.median:
            blurred += prefixes
            shares.append(f"{percentile} {error.median:.0f} of {latency.median:.0f} µs")
    if not blurred:
        return ()
    message = f"the pacer's error is over a quarter of the latency: {', '.join(shares)}"
    return (Warning(code="pacing_error", message=message, figures=blurred),)


def _mode_warnings(sample: Sample) -> tuple[Warning, ...]:
    warnings = []
    for name in FIGURE_NAMES:
        modes = find_modes(tuple(sample.values(name).values()))
        if modes:
            lower, upper = (f"{len(group)} near {_in_words(median(group))}" for group in modes)
            message = f"{name} has two modes: {lower}, {upper}"
            warnings.append(Warning(code="two_modes", message=message, figures=(name,)))
    return tuple(warnings)


def _in_words(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
