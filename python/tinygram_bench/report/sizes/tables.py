"""The tables of `sizes`."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Figure, Result, Summary
from tinygram_bench.report.formats import UNKNOWN, interval, median, number
from tinygram_bench.report.layout import Column, Row, Table
from tinygram_bench.report.sizes.names import brief_ways, cell, size, way
from tinygram_bench.statistics.fits import Fit, local_parts

_MEDIANS = (
    (Column("connect\np50", 4), "connect_p50_us"),
    (Column("setup\np50", 4), "setup_p50_us"),
    (Column("transfer\np50", 3), "transfer_p50_us"),
    (Column("first\ntrip\np50", 6), "first_trip_p50_us"),
    (Column("next\ntrips\np50", 6), "next_trip_p50_us"),
    (Column("total\np50"), "total_p50_us"),
)
_MORE_MEDIANS = (
    (Column("total\np99", 5), "total_p99_us"),
    (Column("very\nfirst", 5), "first_sample_us"),
    (Column("MB/s of\ntransfer", 1), "mb_per_s"),
    (Column("MB/s of\ntotal", 2), "total_mb_per_s"),
    (Column("off the\nmodel %", 1), "model_residual_percent"),
)
PART_LABELS = {
    "system calls": "4 system calls",
    "stack": "+ stack, both ways",
    "same core": "+ another thread, same core",
    "other core": "+ another thread, other core",
}


def cell_table(result: Result, fit: Fit) -> Table:
    """A row for each size and count of round trips."""
    summaries = {summary.case.case_id: summary for summary in result.summaries}
    columns = [Column("size ×\nround trips"), *(column for column, _ in _MEDIANS)]
    columns += [Column("low–high", 2), *(column for column, _ in _MORE_MEDIANS)]
    rows = tuple(
        _cell_row(cell(case), summaries.get(case.case_id), len(columns)) for case in fit.cases
    )
    title = f"Time of a sample (µs): {way(fit.cases[0])}"
    return Table(title, tuple(columns), rows, ("off the model: + took longer than it says",))


def _cell_row(label: str, summary: Summary | None, width: int) -> Row:
    if summary is None or not summary.rounds:
        return Row((label, *[UNKNOWN] * (width - 1)), "absent")
    figures = summary.figures
    return Row(
        (
            label,
            *(median(figures.get(name)) for _, name in _MEDIANS),
            interval(figures.get("total_p50_us")),
            *(median(figures.get(name)) for _, name in _MORE_MEDIANS),
        )
    )


def model_table(fits: Sequence[Fit]) -> Table:
    """The parameters of each fit and their intervals."""
    columns = (
        Column("way"),
        Column("setup\nµs"),
        Column("low–high", 3),
        Column("latency\nµs"),
        Column("low–high", 2),
        Column("MB/s"),
        Column("low–high", 1),
        Column("half the\nMB/s at"),
        Column("low–high", 5),
        Column("90 % of\nMB/s at", 4),
    )
    rows = []
    for fit, name in zip(fits, brief_ways([fit.cases[0] for fit in fits]), strict=True):
        figures = fit.figures()
        cells = [name]
        for figure in ("model_setup_us", "model_latency_us", "model_mb_per_s"):
            cells += [median(figures[figure]), _span(figures[figure])]
        half, most = figures["model_n_half_bytes"], figures["model_n90_bytes"]
        cells += [_size(half), "–".join(map(size, (half.low, half.high))) if half else UNKNOWN]
        rows.append(Row((*cells, _size(most)), "plain" if fit.models else "absent"))
    return Table(
        "The model: time = setup + trips × (latency + bytes ÷ bandwidth)", columns, tuple(rows)
    )


def prediction_table(result: Result, fits: Sequence[Fit]) -> Table:
    """What the model says of the sizes that were asked for."""
    columns = (Column("size ×\nround trips"), Column("way"), Column("µs"), Column("low–high"))
    rows = [
        Row((f"{size(wanted)} × {trips}", name, median(found), _span(found)))
        for fit, name in zip(fits, brief_ways([fit.cases[0] for fit in fits]), strict=True)
        for wanted in predicted_bytes(result)
        for trips in round_trips(fit)
        for found in [fit.predicted_us(wanted, trips)]
    ]
    largest = max((case.message_bytes.max for fit in fits for case in fit.cases), default=0)
    beyond = [size(wanted) for wanted in predicted_bytes(result) if wanted > largest]
    notes = (f"beyond what was measured: {', '.join(beyond)}",) if beyond else ()
    return Table("What the model predicts, connect and setup included", columns, tuple(rows), notes)


def local_table(result: Result) -> Table:
    """What a round trip on this host is made of."""
    parts = local_parts(result.plan, result.runs)
    rows = tuple(
        Row((PART_LABELS[name], median(found), _span(found)))
        for name, found in parts.items()
        if found is not None
    )
    columns = (Column("part"), Column("µs"), Column("low–high"))
    return Table("A round trip of 1 B on this host, part by part", columns, rows)


def predicted_bytes(result: Result) -> list[int]:
    """The sizes that `--predict` named."""
    asked = {SizesParameters.of(case).predicted_bytes for case in result.plan.cases}
    return list(dict.fromkeys(size for sizes in sorted(asked) for size in sizes))


def round_trips(fit: Fit) -> list[int]:
    """Those of the fit's cells, without none."""
    counts = {SizesParameters.of(case).round_trips for case in fit.cases}
    return sorted(count for count in counts if count)


def _span(figure: Figure | None) -> str:
    return UNKNOWN if figure is None else f"{number(figure.low)}–{number(figure.high)}"


def _size(figure: Figure | None) -> str:
    return UNKNOWN if figure is None else size(figure.median)
