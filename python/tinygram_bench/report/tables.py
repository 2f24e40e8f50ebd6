"""The tables of one load: throughput and queue length flat out, latency paced; never mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tinygram_bench.model.result import Result, Summary, Verdict
from tinygram_bench.report.columns import (
    ECHO,
    PACED,
    QUEUEING,
    ROUND_TRIP,
    THROUGHPUT,
    Shown,
)
from tinygram_bench.report.formats import UNKNOWN
from tinygram_bench.report.layout import Column, Row, Table
from tinygram_bench.report.marks import MARKS, legend, marked_ratio
from tinygram_bench.report.names import pace
from tinygram_bench.report.outcomes import verdicts_by_pair
from tinygram_bench.report.rows import CaseRow
from tinygram_bench.statistics.loads import Load, is_base, way_of

BASE = "loop/nodelay"
OWN_BASE = "nodelay of its runtime"
QUEUEING_TITLE = "Queue length, not latency: hand-over to receipt, flat out (µs)"
FROM_CALL_TITLE = "From the call of send, however late it came: hand-over to receipt (µs)"
ECHO_TITLE = "Messages echoed"
ROUND_TRIP_TITLE = "Round trip, the next message sent when one has come back (µs)"
_DETAILS = (QUEUEING_TITLE,)
Verdicts = dict[tuple[str, str], Verdict]


def tables_of(result: Result, load: Load, rows: Sequence[CaseRow]) -> tuple[Table, ...]:
    """The load's tables, a row per case."""
    (title, shown), *others = _tables_in(load)
    first = (
        _rates(result, title, shown, rows)
        if load.is_flat_out
        else _paced(result, load, title, shown, rows)
    )
    return first, *(_table(title, shown, rows) for title, shown in others)


def is_detail(table: Table) -> bool:
    """Whether few readers need the table: flat out, how long the queue was says little."""
    return table.title in _DETAILS


def shown_figures(load: Load, *, with_details: bool) -> tuple[str, ...]:
    """The figures that the load's tables show, those that few readers need only on request."""
    return tuple(
        each.figure
        for title, shown in _tables_in(load)
        if with_details or title not in _DETAILS
        for each in shown
    )


def _tables_in(load: Load) -> tuple[tuple[str, Sequence[Shown]], ...]:
    """Title and columns of each of the load's tables; the first compares with the base."""
    if load.is_closed_loop:
        return (ECHO_TITLE, ECHO), (ROUND_TRIP_TITLE, ROUND_TRIP)
    if load.is_flat_out:
        return ("Throughput", THROUGHPUT), (QUEUEING_TITLE, QUEUEING)
    paced = (f"Latency from the intended send time {pace(load)} (µs)", PACED)
    return (paced, (FROM_CALL_TITLE, QUEUEING)) if load.producers > 1 else (paced,)


def _table(
    title: str, shown: Sequence[Shown], rows: Sequence[CaseRow], notes: tuple[str, ...] = ()
) -> Table:
    """Hold columns only where something is held."""
    summaries = [row.summary for row in rows if row.summary is not None]
    shown = [
        each
        for each in shown
        if not each.figure.startswith("hold_")
        or any(summary.figures.get(each.figure) for summary in summaries)
    ]
    columns = (Column("case"), *(each.column for each in shown))
    return Table(title, columns, tuple(_row(row, shown) for row in rows), notes)


def _row(row: CaseRow, shown: Sequence[Shown]) -> Row:
    """The figures; or, in the first column that never gives way, why there are none."""
    if row.summary is None or row.absence is not None:
        cells = [UNKNOWN] * len(shown)
        cells[[each.column.give_way for each in shown].index(0)] = row.absence or UNKNOWN
        return Row((row.heading, *cells), row.kind)
    return Row((row.heading, *(each.text(row.summary) for each in shown)), row.kind)


def _rates(result: Result, title: str, shown: Sequence[Shown], rows: Sequence[CaseRow]) -> Table:
    """The figures, and each ratio to the base by hand with a mark where it is no verdict."""
    base_case = next((row.case for row in rows if is_base(row.case)), None)
    if base_case is None:
        return _table(title, shown, rows)
    base, name = base_case.case_id, way_of(base_case)
    verdicts = {
        row.case.case_id: found
        for row in rows
        if (found := verdicts_by_pair(result).get((base, row.case.case_id, "throughput_per_s")))
    }

    def times_base(summary: Summary) -> str:
        case_id = summary.case.case_id
        return "1" if case_id == base else marked_ratio(verdicts.get(case_id))

    ratio = Shown(Column("× " + name.replace("/", "/\n")), "throughput_per_s", times_base)
    shown = (*shown[:2], ratio, *shown[2:])
    compared = [verdict for verdict in verdicts.values() if verdict.ratio]
    return _table(title, shown, rows, legend(compared, name))


def _paced(
    result: Result, load: Load, title: str, shown: Sequence[Shown], rows: Sequence[CaseRow]
) -> Table:
    """The figures; p50, p99 and CPU with a mark where they are not shown to differ."""
    verdicts = _against_baselines(result, load, rows)

    def with_mark(shown: Shown) -> Shown:
        def text(summary: Summary) -> str:
            verdict = verdicts.get((summary.case.case_id, shown.figure))
            return shown.text(summary) + (MARKS[verdict.verdict] if verdict else "")

        return replace(shown, text=text)

    shown = [each if each.column.header == "low–high" else with_mark(each) for each in shown]
    baseline = BASE if any(is_base(row.case) for row in rows) else OWN_BASE
    return _table(title, shown, rows, legend(tuple(verdicts.values()), baseline))


def _against_baselines(result: Result, load: Load, rows: Sequence[CaseRow]) -> Verdicts:
    """(case_id, figure) → verdict on a figure that is shown: against `loop/nodelay` by hand or,
    where that was not asked for, `nodelay` of the same runtime and implementation.
    """
    cases = [row.case for row in rows]
    base = next((case for case in cases if is_base(case)), None)
    own = {
        (case.runtime, case.implementation): case for case in cases if case.strategy == "nodelay"
    }
    by_pair = verdicts_by_pair(result)
    verdicts: Verdicts = {}
    for row in rows:
        baseline = base or own.get((row.case.runtime, row.case.implementation))
        known = row.summary.figures if row.summary else {}
        for figure in load.compared_figures:
            verdict = by_pair.get((baseline.case_id if baseline else "", row.case.case_id, figure))
            if verdict is not None and known.get(figure) is not None:
                verdicts[row.case.case_id, figure] = verdict
    return verdicts
