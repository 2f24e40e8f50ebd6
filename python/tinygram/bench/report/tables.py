"""The tables of one load: throughput and queue length flat out, latency paced; never mixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinygram.bench.report.formats import UNKNOWN, median, number, rate, rate_interval
from tinygram.bench.report.layout import Column, Row, Table
from tinygram.bench.report.names import pace
from tinygram.bench.report.rows import CaseRow, verdicts_by_pair
from tinygram.bench.result import Result, Summary, Verdict
from tinygram.bench.statistics.loads import Load, is_base

MARKS = {"faster": "", "slower": "", "no_difference_shown": "=", "cannot_say": "?"}
MAX_REASONS = 3


@dataclass(frozen=True)
class Shown:
    """A column, how its cell comes from a summary, and the figure that it shows."""

    column: Column
    figure: str
    text: Callable[[Summary], str]


def tables_of(result: Result, load: Load, rows: Sequence[CaseRow]) -> tuple[Table, ...]:
    """The load's tables, a row per case."""
    if load.is_flat_out:
        return _throughput(result, rows), _table(QUEUEING_TITLE, QUEUEING, rows)
    return (_table(f"Latency from the intended send time {pace(load)} (µs)", PACED, rows),)


def shown_figures(load: Load) -> tuple[str, ...]:
    """The figures that the load's tables show."""
    shown = (*THROUGHPUT, *QUEUEING) if load.is_flat_out else PACED
    return tuple(each.figure for each in shown)


def _table(title: str, shown: Sequence[Shown], rows: Sequence[CaseRow]) -> Table:
    columns = (Column("case"), *(each.column for each in shown))
    return Table(title, columns, tuple(_row(row, shown) for row in rows))


def _row(row: CaseRow, shown: Sequence[Shown]) -> Row:
    """The figures; or, in the first column that never gives way, why there are none."""
    if row.summary is None or row.absence is not None:
        cells = [UNKNOWN] * len(shown)
        cells[[each.column.give_way for each in shown].index(0)] = row.absence or UNKNOWN
        return Row((row.heading, *cells), row.kind)
    return Row((row.heading, *(each.text(row.summary) for each in shown)), row.kind)


def _throughput(result: Result, rows: Sequence[CaseRow]) -> Table:
    """The figures, and each ratio to `loop/nodelay` by hand with a mark where it is no verdict."""
    base = next((row.case.case_id for row in rows if is_base(row.case)), None)
    verdicts = verdicts_by_pair(result)
    against_base = {
        row.case.case_id: found
        for row in rows
        if (found := verdicts.get((base or "", row.case.case_id, "throughput_per_s")))
    }

    def times_base(summary: Summary) -> str:
        if summary.case.case_id == base:
            return "1"
        return _marked(against_base.get(summary.case.case_id))

    ratio = Shown(Column("× loop/\nnodelay"), "throughput_per_s", times_base)
    shown = (*THROUGHPUT[:2], ratio, *THROUGHPUT[2:])
    table = _table("Throughput", shown, rows)
    return Table(table.title, table.columns, table.rows, _legend(tuple(against_base.values())))


def _marked(verdict: Verdict | None) -> str:
    if verdict is None or verdict.ratio is None:
        return UNKNOWN
    return number(verdict.ratio.median) + MARKS[verdict.verdict]


def _legend(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """What the marks mean, where there are any."""
    notes = []
    if any(verdict.verdict == "no_difference_shown" for verdict in verdicts):
        notes.append("=  no difference from loop/nodelay shown")
    reasons = tuple(dict.fromkeys(each.reason for each in verdicts if each.reason and each.ratio))
    if reasons:
        more = len(reasons) - MAX_REASONS
        text = "; ".join(reasons[:MAX_REASONS]) + (f"; and {more} more" if more > 0 else "")
        notes.append(f"?  cannot say: {text}")
    return tuple(notes)


def _plain(header: str, figure: str, give_way: int) -> Shown:
    return Shown(
        Column(header, give_way), figure, lambda summary: median(summary.figures.get(figure))
    )


def _throughput_median(summary: Summary) -> str:
    figure = summary.figures.get("throughput_per_s")
    return rate(None if figure is None else figure.median)


def _throughput_interval(summary: Summary) -> str:
    return rate_interval(summary.figures.get("throughput_per_s"))


THROUGHPUT = (
    Shown(Column("messages\n/s"), "throughput_per_s", _throughput_median),
    Shown(Column("low–high", 2), "throughput_per_s", _throughput_interval),
    _plain("run\ntime s", "run_time_s", 5),
    _plain("messages\n/write", "messages_per_write", 1),
    _plain("bytes\n/read", "bytes_per_read", 4),
    _plain("CPU\ns/M", "cpu_s_per_million", 3),
)
QUEUEING_TITLE = "Queue length, not latency: hand-over to receipt, flat out (µs)"
QUEUEING = (
    _plain("min", "queueing_min_us", 4),
    _plain("mean", "queueing_mean_us", 3),
    _plain("p50", "queueing_p50_us", 0),
    _plain("p99", "queueing_p99_us", 0),
    _plain("p99.99", "queueing_p99_99_us", 1),
    _plain("max", "queueing_max_us", 2),
)
PACED = (
    _plain("min", "latency_min_us", 7),
    _plain("mean", "latency_mean_us", 4),
    _plain("p50", "latency_p50_us", 0),
    _plain("p99", "latency_p99_us", 0),
    _plain("p99.9", "latency_p99_9_us", 6),
    _plain("p99.99", "latency_p99_99_us", 5),
    _plain("max", "latency_max_us", 3),
    _plain("pacing\nerror\np99", "pacing_error_p99_us", 2),
    _plain("messages\n/write", "messages_per_write", 2),
    _plain("CPU\ns/M", "cpu_s_per_million", 1),
)
