"""A sweep's own chart: its figure against the values of its parameter, a curve for each way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import altair as alt

from tinygram_bench.model.result import Result
from tinygram_bench.model.sweep import Parameter
from tinygram_bench.report.charts.chart import (
    BARRED,
    Chart,
    Data,
    Drawing,
    Row,
    Scale,
    Series,
    around,
    layered,
    questioned,
    series_colour,
    series_dash,
    tooltips,
)
from tinygram_bench.report.charts.ways import clock_of, series_in_turn, told, with_clocks
from tinygram_bench.report.sweeps.words import labels_of
from tinygram_bench.statistics.figures.words import in_words, unit_of
from tinygram_bench.statistics.sweeps.curves import Swept, curves_of

_AXES: Mapping[Parameter, tuple[str, float]] = {
    "hold": ("hold, µs", 1e-3),
    "size": ("size, bytes", 1.0),
    "rtt": ("RTT, µs", 1e-3),
}
"""The parameter's axis, and the factor of its values. Rates have charts of their own (rates.py),
which also tell where a way kept up."""


def sweep_charts(result: Result) -> Iterator[Chart]:
    """One chart, where something other than the rate was swept, and two points have the figure."""
    if result.plan.sweep is None or result.plan.sweep.parameter not in _AXES:
        return
    swept = curves_of(result.plan, result.runs, result.summaries)
    rows = tuple(_rows(swept))
    if len({row["value"] for row in rows}) < 2:
        return
    shown = dict.fromkeys(str(row["way"]) for row in rows)
    yield _chart(swept, rows, series_in_turn(tuple(shown)))


def _rows(swept: Swept) -> Iterator[Row]:
    _, scale = _AXES[swept.sweep.parameter]
    for curve, label in labels_of(swept).items():
        points = zip(
            *(swept.values, curve.figures, curve.doubts, curve.unknown, curve.bounds_us),
            strict=True,
        )
        for value, figure, doubt, unknown, bound_us in points:
            if figure is not None and unknown is None:
                yield {
                    "way": label,
                    "value": value * scale,
                    **around(figure),
                    "is_barred": "no" if doubt is None else "yes",
                    **clock_of(bound_us),
                }


def _chart(swept: Swept, rows: tuple[Row, ...], series: tuple[Series, ...]) -> Chart:
    axis, _ = _AXES[swept.sweep.parameter]
    figure, unit = in_words(swept.figure), unit_of(swept.figure).strip()
    shown = f"{figure}, {unit}" if unit else figure
    columns, rows = with_clocks(
        {"way": "way", "value": axis, "median": shown, "low": "low", "high": "high", **BARRED}, rows
    )

    def draw(data: Data) -> Drawing:
        y = Scale.logarithmic(shown, rows, "low", "median", "high")
        base = alt.Chart(data, height=340).encode(
            x=Scale.logarithmic(axis, rows, "value").x("value"),
            y=y.y("median"),
            color=series_colour(series),
        )
        return layered(
            base.mark_line(strokeWidth=2).encode(strokeDash=series_dash(series)),
            base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(y=y.y("low"), y2="high:Q"),
            base.mark_circle(size=42, opacity=1).encode(tooltip=tooltips(columns, "way", *BARRED)),
            questioned(base, dy=-17),
        )

    noun = axis.partition(",")[0]
    text = f"The {figure} at each {noun} that was measured, with its interval."
    title = f"{figure.capitalize()} against {noun}"
    return Chart("sweep", title, told(text, rows), columns, rows, draw, series)
