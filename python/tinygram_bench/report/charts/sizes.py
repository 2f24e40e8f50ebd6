"""The model of `sizes` beside what was measured, and how far each cell is off the model."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Figure, Result, Summary
from tinygram_bench.report.charts.chart import (
    COLOURS,
    GREY,
    Chart,
    Data,
    Drawing,
    Row,
    Scale,
    Series,
    around,
    layered,
    series_colour,
    tooltips,
)
from tinygram_bench.report.numbers import size
from tinygram_bench.report.workloads.sizes import TOLERANCE_PERCENT
from tinygram_bench.report.workloads.sizes.names import cell_name, way_name
from tinygram_bench.statistics.sizes_fits import Fit, fits_of
from tinygram_bench.statistics.workloads.sizes import TIME

FIT_COLUMNS = {
    "trips": "round trips",
    "bytes": "bytes",
    "kind": "what",
    "median": "µs",
    "low": "low",
    "high": "high",
}
RESIDUAL_COLUMNS = {"cell": "size × round trips", "median": "%", "low": "low", "high": "high"}
_STEPS = 4
"""Points of the model's line for each factor of ten."""


def size_charts(result: Result) -> Iterator[Chart]:
    """Two charts for each fit that has a model."""
    summaries = {summary.case.case_id: summary for summary in result.summaries}
    fits = [fit for fit in fits_of(result.plan, result.runs) if fit.models]
    for at, fit in enumerate(fits):
        end = f"-{at + 1}" if len(fits) > 1 else ""
        where = way_name(fit.cases[0]) if len(fits) > 1 else ""
        yield _fit_chart(fit, summaries, f"size-model{end}", where)
        yield _residual_chart(fit, f"size-residuals{end}", where)


def _fit_chart(fit: Fit, summaries: dict[str, Summary], name: str, where: str) -> Chart:
    trips = sorted({_trips(case) for case in fit.cases} - {0})
    rows: list[Row] = []
    for case in fit.cases:
        summary = summaries.get(case.case_id)
        found = None if summary is None else summary.figures.get(TIME)
        if found is not None and _trips(case):
            rows.append(_row(_trips(case), case.message_bytes.max, "measured", found))
    measured = [float(row["bytes"] or 0) for row in rows]
    if not measured:
        measured = [1.0]
    for count in trips:
        for at_bytes in _grid(int(min(measured)), int(max(measured))):
            predicted = fit.predicted_us(at_bytes, count)
            if predicted is not None:
                rows.append(_row(count, at_bytes, "model", predicted))
    half = fit.figures()["model_n_half_bytes"]
    if half is not None:
        rows.append(_row(0, half.median, "half of the bandwidth", None))
    series = tuple(
        Series(_label(count), COLOURS[at % len(COLOURS)]) for at, count in enumerate(trips)
    )
    text = (
        "Points are measured medians with their intervals, lines what the model says, time = setup "
        "+ trips × (latency + bytes ÷ bandwidth)."
    )
    if half is not None:
        text += (
            f" The upright line is n½, {size(half.median)}, where half the bandwidth is reached."
        )

    def draw(data: Data) -> Drawing:
        base = alt.Chart(data, height=360).encode(
            x=Scale.logarithmic("bytes", rows, "bytes").x("bytes"),
            color=series_colour(series, "trips"),
        )
        model = base.transform_filter("datum.kind == 'model'")
        found = base.transform_filter("datum.kind == 'measured'")
        y = Scale.logarithmic("µs", rows, "low", "median", "high")
        mark = alt.Chart(data).transform_filter("datum.kind == 'half of the bandwidth'")
        return layered(
            mark.mark_rule(strokeDash=[3, 3], color=GREY).encode(x="bytes:Q"),
            model.mark_line(strokeWidth=2).encode(y=y.y("median")),
            found.mark_rule(strokeWidth=2).encode(y=y.y("low"), y2="high:Q"),
            found.mark_circle(size=60, opacity=1).encode(
                y=y.y("median"), tooltip=tooltips(FIT_COLUMNS, "trips", "kind")
            ),
        )

    title, drawn = "Time against size", tuple(rows)
    return Chart(name, title, text, FIT_COLUMNS, drawn, draw, series, "trips", where)


def _row(trips: int, at_bytes: float, kind: str, found: Figure | None) -> Row:
    return {
        "trips": _label(trips) if trips else "n½",
        "bytes": at_bytes,
        "kind": kind,
        **around(found),
    }


def _label(trips: int) -> str:
    return "1 round trip" if trips == 1 else f"{trips} round trips"


def _grid(least: int, most: int) -> list[int]:
    """Sizes from `least` to `most`, evenly on a logarithmic scale."""
    sizes, at = [], 0
    while (found := round(least * 10 ** (at / _STEPS))) < most:
        sizes.append(found)
        at += 1
    return list(dict.fromkeys([*sizes, most]))


def _residual_chart(fit: Fit, name: str, where: str) -> Chart:
    rows: list[Row] = []
    for case in fit.cases:
        found = fit.residual_percent(case)
        if found is not None:
            values = around(found)
            rows.append({"cell": cell_name(case), **values})

    def draw(data: Data) -> Drawing:
        base = alt.Chart(data, height=22 * len(rows)).encode(
            y=alt.Y("cell:N", sort=None, title=None, axis=alt.Axis(grid=True, tickBand="extent"))
        )
        scale = Scale("% longer (+) or shorter (−) than the model says", format="+~f")
        band = alt.Chart(
            alt.InlineData(values=[{"from": -TOLERANCE_PERCENT, "to": TOLERANCE_PERCENT}])
        )
        return layered(
            band.mark_rect(opacity=0.15, color=COLOURS[2]).encode(x=scale.x("from"), x2="to:Q"),
            base.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(x=scale.x("low"), x2="high:Q"),
            base.mark_circle(size=60, opacity=1, color=COLOURS[0]).encode(
                x=scale.x("median"), tooltip=tooltips(RESIDUAL_COLUMNS, "cell")
            ),
        )

    text = (
        "How much longer each cell took than the model of the round says, with its interval. In "
        f"the band it is within {TOLERANCE_PERCENT:g} %."
    )
    title = "Off the model"
    return Chart(name, title, text, RESIDUAL_COLUMNS, tuple(rows), draw, where=where)


def _trips(case: Case) -> int:
    return SizesParameters.of(case).round_trips
