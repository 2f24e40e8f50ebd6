"""The tables of one load: a row per case, compared with the case by hand that has `nodelay`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.result import Case, Result, Summary, Verdict
from tinygram_bench.report.numbers import (
    CLOCK_HEAD,
    UNKNOWN,
    clock,
    clock_note,
    interval_of,
    mark,
    marked_ratio,
    median_of,
    rate,
    rate_interval,
)
from tinygram_bench.report.prose import all_cases, marks_explained
from tinygram_bench.report.table import Column, Row, RowKind, Shown, Table
from tinygram_bench.statistics.one_way import bound_us, is_known, is_of_two_clocks
from tinygram_bench.statistics.verdicts.contests import Verdicts, clear_winners
from tinygram_bench.statistics.workloads.loads import Load, is_base, is_faulty, is_limit, way_of

OWN_BASE = "nodelay of its runtime"
_CLOCKS = clock_note("each time that begins on one and ends on the other")
_ALIKE = ", alike for all ways of a round"


class LoadTable(Struct, frozen=True):
    """A table for loads of a kind.

    `compares`: how rows are compared with the base, by a column of ratios or a mark on each figure.
    `is_detail`: few readers need the table.
    """

    title: str
    shown: tuple[Shown[Summary], ...]
    compares: Literal["by ratio", "by marks"] | None = None
    is_detail: bool = False


class CaseRow(Struct, frozen=True):
    """One case's row. `absence` says why it has no figures; `remark` stands beside its label."""

    case: Case
    label: str
    kind: RowKind
    summary: Summary | None
    absence: str | None = None
    remark: str = ""


def shown_median(header: str, figure: str, give_way: int) -> Shown[Summary]:
    return Shown(Column(header, give_way), lambda summary: median_of(summary, figure), figure)


def shown_interval(figure: str, give_way: int) -> Shown[Summary]:
    return Shown(Column("low–high", give_way), lambda summary: interval_of(summary, figure), figure)


def _throughput_median(summary: Summary) -> str:
    figure = summary.figures.get("throughput_per_s")
    return rate(None if figure is None else figure.median)


def _throughput_interval(summary: Summary) -> str:
    return rate_interval(summary.figures.get("throughput_per_s"))


SHOWN_THROUGHPUT = (
    Shown(Column("messages\n/s"), _throughput_median, "throughput_per_s"),
    Shown(Column("low–high", 2), _throughput_interval, "throughput_per_s"),
)
SHOWN_RECORDS = (
    shown_median("records\n/message", "records_per_message", 0),
    shown_median("wire B\n/message", "wire_bytes_per_message", 0),
    shown_median("messages\n/write", "messages_per_write", 1),
)
"""What a message takes on the wire over TLS."""


def shown_tail(histogram: str) -> tuple[Shown[Summary], ...]:
    """Columns for the least, mean, percentiles and greatest value of a histogram."""
    give_way = {"min": 4, "mean": 3, "p50": 0, "p99": 0, "p99.99": 1, "max": 2}
    return tuple(
        shown_median(name, f"{histogram}_{name.replace('.', '_')}_us", place)
        for name, place in give_way.items()
    )


def rows_by_load(result: Result) -> dict[Load, tuple[CaseRow, ...]]:
    """Load → its cases by runtime, then in the plan's order; the limits last.

    The loads are in the plan's order.
    """
    cases = all_cases(result)
    runtimes = list(dict.fromkeys(case.runtime for case in cases))
    summaries = {summary.case.case_id: summary for summary in result.summaries}
    best = {case.case_id for case in clear_winners(result)}
    absent = {unavailable.case.case_id for unavailable in result.plan.unavailable}
    by_load: dict[Load, list[Case]] = {}
    for case in cases:
        by_load.setdefault(Load.of(case), []).append(case)

    def rows(here: Sequence[Case]) -> Iterator[CaseRow]:
        ways = Counter(map(way_of, here))
        for case in sorted(here, key=lambda case: (is_limit(case), runtimes.index(case.runtime))):
            yield _case_row(
                case,
                way_of(case) if ways[way_of(case)] == 1 else case.case_id,
                summaries.get(case.case_id),
                is_best=case.case_id in best,
                is_absent=case.case_id in absent,
            )

    return {load: tuple(rows(here)) for load, here in by_load.items()}


def _case_row(
    case: Case, label: str, summary: Summary | None, *, is_best: bool, is_absent: bool
) -> CaseRow:
    if is_absent:
        return CaseRow(case, label, "absent", None, "unavailable")
    if summary is None or not summary.rounds:
        is_failed = summary is not None and summary.failed_rounds
        return CaseRow(case, label, "absent", summary, "failed" if is_failed else "not run")
    kind: RowKind = "limit" if is_limit(case) else "best" if is_best else "plain"
    remarks = []
    if is_limit(case):
        remarks.append("(limit)")
    if is_faulty(case):
        remarks.append("(faulty)")
    if summary.failed_rounds:
        remarks.append(f"({summary.rounds} of {summary.rounds + summary.failed_rounds})")
    return CaseRow(case, label, kind, summary, remark=" ".join(remarks))


def drawn(verdicts: Verdicts, load: Load, table: LoadTable, rows: Sequence[CaseRow]) -> Table:
    if table.compares == "by ratio":
        return _with_ratios(verdicts, table, rows)
    if table.compares == "by marks":
        return _with_marks(verdicts, load, table, rows)
    return _table(table, rows)


def _table(table: LoadTable, rows: Sequence[CaseRow], notes: tuple[str, ...] = ()) -> Table:
    """The table of these rows.

    It has columns for holds only where something is held, and one for what two clocks may be wrong
    by where there are two.
    """
    summaries = [row.summary for row in rows if row.summary is not None]
    shown = [
        each
        for each in table.shown
        if not each.figure.startswith("hold_")
        or any(summary.figures.get(each.figure) for summary in summaries)
    ]
    of_two_clocks = [at for at, each in enumerate(shown, 1) if is_of_two_clocks(each.figure)]
    if of_two_clocks and any(bound_us(summary.figures) for summary in summaries):
        # No table is without it, however narrow it is.
        of_clocks = Shown[Summary](
            Column(CLOCK_HEAD), lambda summary: clock(bound_us(summary.figures))
        )
        shown.insert(of_two_clocks[-1], of_clocks)
        in_turns = all(summary.case.parameters.slice_ns for summary in summaries)
        notes = (*notes, _CLOCKS + (_ALIKE if in_turns else ""))
    columns = (Column("case"), *(each.column for each in shown))
    return Table(table.title, columns, tuple(_row(row, shown) for row in rows), notes)


def _row(row: CaseRow, shown: Sequence[Shown[Summary]]) -> Row:
    """A row of figures; or, in the first column that never gives way, why there are none."""
    heading = f"{row.label} {row.remark}".rstrip()
    if row.summary is None or row.absence is not None:
        cells = [UNKNOWN] * len(shown)
        cells[[each.column.give_way for each in shown].index(0)] = row.absence or UNKNOWN
        return Row((heading, *cells), row.kind)
    return Row((heading, *(each.text(row.summary) for each in shown)), row.kind)


def _with_ratios(by_pair: Verdicts, table: LoadTable, rows: Sequence[CaseRow]) -> Table:
    """The figures, and each ratio to the base, with a mark where no difference is shown."""
    base_case = next((row.case for row in rows if is_base(row.case)), None)
    if base_case is None:
        return _table(table, rows)
    base, name = base_case.case_id, way_of(base_case)
    verdicts = {
        row.case.case_id: found
        for row in rows
        if (found := by_pair.get((base, row.case.case_id, "throughput_per_s")))
    }

    def times_base(summary: Summary) -> str:
        case_id = summary.case.case_id
        return "1" if case_id == base else marked_ratio(verdicts.get(case_id))

    ratio = Shown(Column("× " + name.replace("/", "/\n")), times_base, "throughput_per_s")
    shown = (*table.shown[:2], ratio, *table.shown[2:])
    compared = [verdict for verdict in verdicts.values() if verdict.ratio]
    return _table(replace(table, shown=shown), rows, marks_explained(compared, name))


def _with_marks(by_pair: Verdicts, load: Load, table: LoadTable, rows: Sequence[CaseRow]) -> Table:
    """The figures, with marks on the compared ones where no difference is shown."""
    verdicts = _against_baselines(by_pair, load, rows)

    def with_mark(shown: Shown[Summary]) -> Shown[Summary]:
        def text(summary: Summary) -> str:
            verdict = verdicts.get((summary.case.case_id, shown.figure))
            is_judged = verdict is not None and is_known(summary.figures, shown.figure)
            return shown.text(summary) + (mark(verdict) if verdict and is_judged else "")

        return shown if shown.column.header == "low–high" else replace(shown, text=text)

    marked = replace(table, shown=tuple(map(with_mark, table.shown)))
    baseline = next((way_of(row.case) for row in rows if is_base(row.case)), OWN_BASE)
    return _table(marked, rows, marks_explained(tuple(verdicts.values()), baseline))


def _against_baselines(
    by_pair: Verdicts, load: Load, rows: Sequence[CaseRow]
) -> dict[tuple[str, str], Verdict]:
    """(case_id, figure) → verdict on a figure that is shown: against the workload's base or,
    where that was not asked for, `nodelay` of the same runtime and implementation.
    """
    cases = [row.case for row in rows]
    base = next((case for case in cases if is_base(case)), None)
    own = {
        (case.runtime, case.implementation): case for case in cases if case.strategy == "nodelay"
    }
    verdicts = {}
    for row in rows:
        baseline = base or own.get((row.case.runtime, row.case.implementation))
        known = row.summary.figures if row.summary else {}
        for figure in load.compared_figures:
            verdict = by_pair.get((baseline.case_id if baseline else "", row.case.case_id, figure))
            if verdict is not None and known.get(figure) is not None:
                verdicts[row.case.case_id, figure] = verdict
    return verdicts
