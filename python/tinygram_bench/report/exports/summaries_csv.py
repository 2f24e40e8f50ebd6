"""Summaries as CSV, for spreadsheets and data frames: a line for each figure of each case."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from tinygram_bench.model.result import Named, Summary
from tinygram_bench.report.numbers import HALF
from tinygram_bench.statistics.figures.words import unit_of
from tinygram_bench.statistics.one_way import bound_on, bound_us, unknown_in

COLUMNS = (
    *("result", "case_id", "workload", "runtime", "implementation", "strategy", "link"),
    *("message_min_bytes", "message_max_bytes", "rate_per_s", "rounds", "failed_rounds"),
    *("confidence", "figure", "unit", "median", "low", "high"),
)
CLOCKS = ("clock_bound_us", "shown_instead")
"""More columns, where any result was measured between two hosts: by how much their clocks may be
wrong in the figure; and where that is more than a fifth of it, `rtt/2`, with half of the shortest
round trip as its value, or `nothing`, without a value."""


def summaries_csv(results: Iterable[Named]) -> str:
    """Every known figure as CSV text. `rate_per_s` is empty where a case runs flat out."""
    named = [(each.name, summary) for each in results for summary in each.result.summaries]
    columns: tuple[str, ...] = COLUMNS
    if any(bound_us(summary.figures) for _, summary in named):
        columns = (*columns, *CLOCKS)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for name, summary in named:
        writer.writerows(line[: len(columns)] for line in _lines(name, summary))
    return text.getvalue()


def _lines(name: str, summary: Summary) -> Iterator[tuple[object, ...]]:
    """A line for each figure, with all columns."""
    case = summary.case
    for figure, found in summary.figures.items():
        if found is not None:
            unknown = unknown_in(summary.figures, figure)
            shown = found if unknown is None else unknown.instead
            instead = None if unknown is None else "nothing" if shown is None else HALF
            yield (
                *(name, case.case_id, case.workload, case.runtime, case.implementation),
                *(case.strategy, case.link, case.message_bytes.min, case.message_bytes.max),
                *(case.rate_per_s, summary.rounds, summary.failed_rounds, summary.confidence),
                *(figure, unit_of(figure).strip()),
                *((None,) * 3 if shown is None else (shown.median, shown.low, shown.high)),
                *(bound_on(summary.figures, figure), instead),
            )
