"""Figures of runs as progress tells them: the rate, p50 and p99, of single runs.

They are for watching: without intervals, and no verdict is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tinygram_bench.model.result import Case, Figure, Run
from tinygram_bench.statistics.figures.runs import figures_of
from tinygram_bench.statistics.figures.words import rounded_up
from tinygram_bench.statistics.one_way import BOUND, is_known
from tinygram_bench.statistics.workloads import WORKLOADS

_RATES = ("throughput_per_s", "calls_per_s")


class Latest(Struct, frozen=True):
    """What was measured in one run; None: not known.

    `due_per_s`: how many messages were to be sent, where the case has a schedule. `bound_us`: by
    how much the clocks of two hosts may be wrong in the latencies; one that they do not know within
    a fifth is not told.
    """

    due_per_s: float | None
    rate_per_s: float | None
    p50_us: float | None
    p99_us: float | None
    bound_us: float | None = None


def latest_of(case: Case, run: Run) -> Latest | None:
    """The figures of a run; None where it failed."""
    if run.failure is not None:
        return None
    figures = figures_of(case, run).values
    rates = (figures.get(name) for name in _RATES)
    histogram = WORKLOADS[case.workload].time
    p50_us, p99_us = (_known(figures, f"{histogram}_{each}_us") for each in ("p50", "p99"))
    is_timed = p50_us is not None or p99_us is not None
    return Latest(
        case.rate_per_s,
        next((rate for rate in rates if rate is not None), None),
        p50_us,
        p99_us,
        figures.get(BOUND) if is_timed else None,
    )


def _known(figures: Mapping[str, float | None], name: str) -> float | None:
    found = {
        each: Figure(value, value, value)
        for each in (name, BOUND)
        if (value := figures.get(each)) is not None
    }
    return figures.get(name) if is_known(found, name) else None


def in_words(found: Iterable[Latest]) -> list[str]:
    """The range of each figure over these runs, such as `p50 12–48 µs`; unknown ones left out."""
    all_ = list(found)
    columns = {
        "due {}/s": [each.due_per_s for each in all_],
        "rate {}/s": [each.rate_per_s for each in all_],
        "p50 {} µs": [each.p50_us for each in all_],
        "p99 {} µs": [each.p99_us for each in all_],
    }
    told = [
        words.format(_range(known))
        for words, values in columns.items()
        if (known := [value for value in values if value is not None])
    ]
    bounds_us = [each.bound_us for each in all_ if each.bound_us is not None]
    return [*told, f"clocks ± {rounded_up(max(bounds_us))} µs"] if bounds_us else told


def _range(values: list[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low}–{high}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
