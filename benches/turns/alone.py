"""How far figures in slices are from those of the same cases alone, for docs/resolution.md.

`tinygram trust --against-lone --json RESULT` measures every default case in both ways, in forty
minutes. This takes its result: the figures whose intervals do not overlap, and over all cases the
ratio of each figure alone to the same in slices.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles

from msgspec.structs import replace
from published.stored import Cell, Column, Row, measured, put
from published.tables import lines_of
from published.telling import take_into

from tinygram_bench import load
from tinygram_bench.links.spec import LOOPBACK
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Result
from tinygram_bench.report.numbers import span
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.workloads.loads import load_name
from tinygram_bench.trust.judging import BothWays, judged
from tinygram_bench.trust.text import case_name

_APART = [Column(each, each, is_text=True) for each in ("figure", "in slices", "alone")]
_RATIOS = [
    Column("cases", "cases", 0),
    Column("in the middle", "middle", 2),
    Column("10 to 90 % of the cases", "most", 2, "–"),
]
_LEAST_CASES = 8
"""Tenths of fewer cases say nothing."""
_OF_LOADS = "cpu_s_per_million"
"""The figure of a stream that is told load by load, since it differs from one to the next."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path, help="of `tinygram trust --against-lone --json FILE`")
    take_into(parser)
    asked = parser.parse_args()
    try:
        result = load(asked.result).stored
    except UsageError as error:
        raise SystemExit(str(error)) from None
    found = judged(result)
    if not found.both_ways or not found.is_sure:
        raise SystemExit(
            f"{asked.result} has no cases in slices and alone in 6 rounds: make it by `tinygram "
            "trust --against-lone --json FILE`"
        )
    _tell(asked.into, result, "against-lone", "case", _APART, [*_apart(found.apart)])
    ratios = [*_ratios(found.both_ways)]
    _tell(asked.into, result, "against-lone-ratios", "alone ÷ in slices", _RATIOS, ratios)
    return 0


def _apart(found: Sequence[BothWays]) -> Iterator[Row]:
    """Each figure whose two intervals do not overlap."""
    for each in found:
        figures: dict[str, Cell] = {
            "figure": in_words(each.figure),
            "in slices": span(each.in_slices),
            "alone": span(each.alone),
        }
        yield Row(case_name(each.case), figures)


def _ratios(found: Sequence[BothWays]) -> Iterator[Row]:
    """Over the cases that have a figure, how many times it is alone what it is in slices."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for each in found:
        if each.in_slices.median:
            ratios[_kind(each)].append(each.alone.median / each.in_slices.median)
    for kind, values in ratios.items():
        figures: dict[str, Cell] = {"cases": float(len(values)), "middle": median(values)}
        if len(values) >= _LEAST_CASES:
            tenths = quantiles(values, n=10, method="inclusive")
            figures["most"] = [tenths[0], tenths[-1]]
        yield Row(kind, figures)


def _kind(each: BothWays) -> str:
    """`median latency of stream`; CPU time of a stream by its load and link."""
    case = each.case
    if case.workload != "stream" or each.figure != _OF_LOADS:
        return f"{in_words(each.figure)} of {case.workload}"
    over = "" if case.link == LOOPBACK else f" over {case.link}"
    return f"{in_words(each.figure)}, {load_name(case)}{over}"


def _tell(
    into: Path | None,
    result: Result,
    name: str,
    first: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
) -> None:
    """Print a table, and store it where that is asked, with the day and the host of its result."""
    print(f"\n{lines_of(first, columns, rows)}", flush=True)
    if into is not None:
        facts = result.environment
        host = f"Linux {facts['kernel']}, {facts['cpu_model']}, {facts['cores']} cores"
        table = measured("python -m turns.alone", host, first, columns, rows)
        begun = datetime.fromisoformat(str(result.started_at)).date()
        # What is checked out may be other code than what measured.
        put(into, name, replace(table, on=begun, commit=None))


if __name__ == "__main__":
    sys.exit(main())
