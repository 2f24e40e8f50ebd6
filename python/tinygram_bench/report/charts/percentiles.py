"""Percentile curves: of latency, of calls and round trips, and of connecting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import altair as alt

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Result
from tinygram_bench.report.charts.chart import (
    COLOURS,
    DASHES,
    Chart,
    Drawing,
    Row,
    Scale,
    Series,
    layered,
    series_colour,
    series_dash,
    tooltips,
)
from tinygram_bench.report.charts.ways import (
    fields_of,
    named,
    pooled,
    series_in,
    series_of,
)
from tinygram_bench.statistics.figures.runs import MIN_SAMPLES_BEYOND
from tinygram_bench.statistics.sizes_fits import fits_of

PERCENTILES = (0, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.75, 99.9, 99.95, 99.975, 99.99)
COLUMNS = {"way": "way", "percentile": "percentile", "time_us": "µs"}
_TITLES = {
    "stream": ("latency_ns", "Latency from the intended send time", "latency-percentiles"),
    "rr": ("call_ns", "Time of a call", "call-percentiles"),
    "echo": ("round_trip_ns", "Round trip", "round-trip-percentiles"),
}
_TEXT = (
    "How long the fastest 50 %, 99 %, 99.99 % took at most, of all rounds together. The further "
    "right, the rarer; a line ends where fewer than ten samples are beyond."
)
_TICKS = [2, 10, 100, 1_000, 10_000]
_TICK_LABELS = (
    "datum.value == 2 ? '50 %' : datum.value == 10 ? '90 %' : "
    "datum.value == 100 ? '99 %' : datum.value == 1000 ? '99.9 %' : '99.99 %'"
)


def percentile_charts(result: Result) -> Iterator[Chart]:
    """A chart for each load that has latencies, calls or round trips."""
    series = series_of(result)
    for at, field in enumerate(fields_of(result)):
        histogram, title, name = _TITLES[field.entrants[0].case.workload]
        if histogram == "latency_ns" and field.entrants[0].case.is_flat_out:
            continue
        samples = {
            each.label: pooled(result, [each.case.case_id], histogram) for each in field.entrants
        }
        rows = tuple(row for label, found in samples.items() for row in _rows(label, found))
        if rows:
            chosen = series_in(field, series)
            found = _chart(named(name, at, field), title, _TEXT, rows, chosen)
            yield replace(found, where=field.title)


def connect_charts(result: Result) -> Iterator[Chart]:
    """How long connecting took, where a workload connects often enough to tell."""
    series = dict(series_of(result))
    cases = {
        entrant.label: [entrant.case.case_id]
        for field in fields_of(result)
        for entrant in field.entrants
        if entrant.case.workload == "rr"
    }
    for at, fit in enumerate(fits_of(result.plan, result.runs)):
        first = fit.cases[0]
        label = f"{first.strategy}, {SizesParameters.of(first).setup_writes} writes, {first.link}"
        cases[label] = [case.case_id for case in fit.cases]
        series[label] = Series(label, COLOURS[at % len(COLOURS)], DASHES[at // len(COLOURS)])
    rows = tuple(
        row
        for label, ids in cases.items()
        for row in _rows(label, pooled(result, ids, "connect_ns"))
    )
    if rows:
        shown = {str(row["way"]) for row in rows}
        chosen = tuple(series[label] for label in cases if label in shown)
        text = f"{_TEXT} No call and no round trip includes it."
        yield _chart("connect-percentiles", "Time to connect", text, rows, chosen)


def _rows(label: str, samples: Histogram) -> Iterator[Mapping[str, str | float | None]]:
    for percentile in PERCENTILES:
        beyond = samples.count * (100 - percentile) / 100
        if samples.count and beyond >= MIN_SAMPLES_BEYOND - 1e-6:
            at_ns = samples.percentile_ns(percentile) if percentile else samples.min_ns
            yield {
                "way": label,
                "percentile": percentile,
                "one_in": 100 / (100 - percentile),
                "time_us": at_ns / 1_000,
            }


def _chart(
    name: str, title: str, text: str, rows: tuple[Row, ...], series: tuple[Series, ...]
) -> Chart:
    def draw(data: alt.InlineData) -> Drawing:
        rarest = max(float(row["one_in"] or 1) for row in rows)
        base = alt.Chart(data, height=360).encode(
            x=alt.X(
                "one_in:Q",
                title="percentile",
                scale=alt.Scale(type="log", nice=False, domain=[1, rarest]),
                axis=alt.Axis(values=_TICKS, labelExpr=_TICK_LABELS, labelOverlap=False),
            ),
            y=Scale.logarithmic("µs", rows, "time_us").y("time_us"),
            color=series_colour(series),
        )
        return layered(
            base.mark_line(strokeWidth=2).encode(strokeDash=series_dash(series)),
            base.mark_circle(size=34, opacity=1).encode(
                tooltip=tooltips(COLUMNS, "way", "percentile")
            ),
        )

    return Chart(name, title, text, COLUMNS, rows, draw, series)
