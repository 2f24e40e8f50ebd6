"""Figures of runs as progress tells them: the rate, p50 and p99, of single runs.

They are for watching: without intervals, and no verdict is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.runs import figures_of
from tinygram_bench.statistics.workloads import WORKLOADS

_RATES = ("throughput_per_s", "calls_per_s")


class Latest(Struct, frozen=True):
    """What was measured in one run; None: not known.

    `due_per_s`: how many messages were to be sent, where the case has a schedule.
    """

    due_per_s: float | None
    rate_per_s: float | None
    p50_us: float | None
    p99_us: float | None


def latest_of(case: Case, run: Run) -> Latest | None:
    """The figures of a run; None where it failed."""
    if run.failure is not None:
        return None
    figures = figures_of(case, run).values
    rates = (figures.get(name) for name in _RATES)
    histogram = WORKLOADS[case.workload].time
    return Latest(
        case.rate_per_s,
        next((rate for rate in rates if rate is not None), None),
        figures.get(f"{histogram}_p50_us"),
        figures.get(f"{histogram}_p99_us"),
    )


def in_words(found: Iterable[Latest]) -> list[str]:
    """The range of each figure over these runs, such as `p50 12–48 µs`; unknown ones left out."""
    all_ = list(found)
    columns = {
        "due {}/s": [each.due_per_s for each in all_],
        "rate {}/s": [each.rate_per_s for each in all_],
        "p50 {} µs": [each.p50_us for each in all_],
        "p99 {} µs": [each.p99_us for each in all_],
    }
    return [
        words.format(_range(known))
        for words, values in columns.items()
        if (known := [value for value in values if value is not None])
    ]


def _range(values: list[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low}–{high}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
