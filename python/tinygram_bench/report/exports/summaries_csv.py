"""Summaries as CSV, for spreadsheets and data frames: a line for each figure of each case."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from tinygram_bench.model.result import Named, Summary
from tinygram_bench.statistics.figures.words import unit_of

COLUMNS = (
    *("result", "case_id", "workload", "runtime", "implementation", "strategy", "link"),
    *("message_min_bytes", "message_max_bytes", "rate_per_s", "rounds", "failed_rounds"),
    *("confidence", "figure", "unit", "median", "low", "high"),
)


def summaries_csv(results: Iterable[Named]) -> str:
    """Every known figure as CSV text. `rate_per_s` is empty where a case runs flat out."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in results:
        for summary in each.result.summaries:
            writer.writerows(_lines(each.name, summary))
    return text.getvalue()


def _lines(name: str, summary: Summary) -> Iterator[tuple[object, ...]]:
    case = summary.case
    for figure, found in summary.figures.items():
        if found is not None:
            yield (
                *(name, case.case_id, case.workload, case.runtime, case.implementation),
                *(case.strategy, case.link, case.message_bytes.min, case.message_bytes.max),
                *(case.rate_per_s, summary.rounds, summary.failed_rounds, summary.confidence),
                *(figure, unit_of(figure).strip(), found.median, found.low, found.high),
            )
