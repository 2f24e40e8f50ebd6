"""The warnings of a case: those of its runs, and those that only all rounds show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean, median

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Figure, Warning
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.statistics.figures.modes import find_modes
from tinygram_bench.statistics.figures.samples import Sample
from tinygram_bench.statistics.figures.stalls import STALL_US, STALLED_SHARE
from tinygram_bench.statistics.figures.words import in_words, unit_of
from tinygram_bench.statistics.link_warnings import LINK_FAULTS
from tinygram_bench.statistics.recurring import FELL_BEHIND, recurs
from tinygram_bench.statistics.verdicts.doubts import MAX_PACING_ERROR_SHARE, MIN_PAIRED_ROUNDS

MAX_HOLD_RATIO = 2.0
_OF_SOME_ROUNDS = (*LINK_FAULTS, "other_measurement", FELL_BEHIND, "slices_entered")
"""Warnings about conditions that may come and go between two rounds."""
_MOST_STALLED = 0.01
"""Share of the slices that may be stalled, or have a late pacer, before a warning tells of it."""
_SHORT_SLICE_NS = 3_000_000
"""With both cores disturbed, half the interval of throughput was 1 to 2 % with slices as short as
this, and 24 % with those of 20 ms (docs/resolution.md)."""
_MOST_LATE = 0.5
"""Where the pacer was late in more of the slices, their medians are those of such slices."""
_BLURRED = {
    "p50": ("latency_min", "latency_mean", "latency_p50"),
    "p99": ("latency_p99", "latency_max"),
    "p99_9": ("latency_p99_9", "latency_max"),
}
"""Percentile of the pacer's error → the beginnings of the names of figures that it blurs."""
Figures = Mapping[str, Figure | None]


def warnings_of(sample: Sample, figures: Figures) -> tuple[Warning, ...]:
    """The warnings of a case whose good rounds are `sample`, summed up in `figures`."""
    return (
        *_run_warnings(sample),
        *_pacing_warnings(sample, figures),
        *_hold_warnings(sample.case, figures),
        *_mode_warnings(sample, figures),
        *_stall_warnings(sample),
    )


def _run_warnings(sample: Sample) -> tuple[Warning, ...]:
    """The runs' warnings, one per code: the first message, and in how many rounds it came up.

    A condition that may disturb single rounds bars figures only if it recurs.
    """
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
            message=f"{same[0].message} ({_share(rounds[code], len(sample.good_runs))})",
            figures=()
            if code in _OF_SOME_ROUNDS and not recurs(code, sample.good_runs)
            else tuple(dict.fromkeys(figure for each in same for figure in each.figures)),
        )
        for code, same in by_code.items()
    )


def _share(rounds: int, of: int) -> str:
    return "in every round" if rounds == of else f"in {rounds} of {of} rounds"


def _pacing_warnings(sample: Sample, figures: Figures) -> Iterator[Warning]:
    """Bar verdicts where the pacer was late by over a quarter of the latency.

    The error's median is compared with the latency's median, its p99 with the tail. For a case that
    took turns, this is judged slice by slice, and p99 block by block: where over half of them are
    late, figures are barred; where a few are, that is only told.
    """
    blurred: tuple[str, ...] = ()
    said = []
    for percentile, prefixes in _BLURRED.items():
        name = percentile.replace("_", ".")
        error = figures.get(f"pacing_error_{percentile}_us")
        latency = figures.get(f"latency_{percentile}_us")
        late_share = _late_share(sample, percentile)
        if late_share is not None:
            if late_share > _MOST_LATE:
                blurred += prefixes
                said.append(f"{name} in {late_share:.0%} of its slices")
            elif percentile == "p50" and late_share > _MOST_STALLED:
                yield Warning(
                    "slices_pacing_late",
                    f"in {late_share:.0%} of its slices the pacer's error is over a quarter of the "
                    "latency; these slices count like all others",
                )
        elif error and latency and error.median > MAX_PACING_ERROR_SHARE * latency.median:
            blurred += prefixes
            said.append(f"{name} {error.median:.0f} of {latency.median:.0f} µs")
    if blurred:
        message = f"the pacer's error is over a quarter of the latency: {', '.join(said)}"
        yield Warning("pacing_error", message, tuple(dict.fromkeys(blurred)))


def _late_share(sample: Sample, percentile: str) -> float | None:
    """The share of its slices, or blocks of them, in which the pacer's error is over a quarter of
    the latency; None where slices do not tell.
    """
    latencies = sample.slices(f"latency_{percentile}_us")
    is_late = [
        error_us > MAX_PACING_ERROR_SHARE * latency_us
        for number, errors in sample.slices(f"pacing_error_{percentile}_us").items()
        for error_us, latency_us in zip(errors, latencies.get(number, ()), strict=False)
        if error_us is not None and latency_us is not None
    ]
    return sum(is_late) / len(is_late) if is_late else None


def _hold_warnings(case: Case, figures: Figures) -> tuple[Warning, ...]:
    """Warn of long holds, which bar no figure: they are the way's doing, not the measurement's."""
    asked_ns, held = _asked_hold_ns(case), figures.get("hold_p50_us")
    if asked_ns is None or held is None or held.median * 1_000 <= MAX_HOLD_RATIO * asked_ns:
        return ()
    message = f"holds {_number(held.median)} µs where {_number(asked_ns / 1_000)} µs were asked for"
    return (Warning(code="hold_overrun", message=message),)


def _asked_hold_ns(case: Case) -> int | None:
    try:
        return parse_strategy(case.strategy).duration_ns
    except UsageError:
        return None  # a strategy of another version, whose hold is not known


def _mode_warnings(sample: Sample, figures: Figures) -> tuple[Warning, ...]:
    """Warn of two modes in medians; figures of all samples together have no such trouble.

    With fewer rounds than a verdict needs, two modes are too likely to be chance.
    """
    warnings = []
    for name in figures:
        values = sample.values(name) if sample.is_median(name) else {}
        modes = find_modes(tuple(values.values()))
        if modes and len(values) >= MIN_PAIRED_ROUNDS:
            lower, upper = (
                f"near {_number(median(group))}{unit_of(name)} in {len(group)} rounds"
                for group in modes
            )
            message = f"two modes in {in_words(name)}: {lower}, {upper}"
            warnings.append(Warning(code="two_modes", message=message, figures=(name,)))
    return tuple(warnings)


def _stall_warnings(sample: Sample) -> tuple[Warning, ...]:
    """Tell how many slices something stopped: they count like all others."""
    shares = sample.values(STALLED_SHARE).values()
    if not shares or fmean(shares) < _MOST_STALLED:
        return ()
    message = (
        f"in {fmean(shares):.0%} of its slices a message took over {STALL_US / 1_000:g} ms "
        "longer than half of the others, as after a stop of the host, a loss or a delayed "
        f"acknowledgement; these slices count like all others{_remedy(sample)}"
    )
    return (Warning(code="slices_stalled", message=message),)


def _remedy(sample: Sample) -> str:
    """What makes stops matter less where a count of what got done is compared."""
    is_long = (sample.case.parameters.slice_ns or 0) > _SHORT_SLICE_NS
    is_over_link = any(run.link is not None for run in sample.good_runs)
    if sample.case.rate_per_s is not None or is_over_link or not is_long:
        return ""
    return f"; fewer of shorter ones are stopped: --slice {format_duration_ns(_SHORT_SLICE_NS)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
