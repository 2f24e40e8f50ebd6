"""Percentile curves: of latency, of calls and round trips, and of connecting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt
from msgspec.structs import replace

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Result, Run, Summary
from tinygram_bench.report.charts.chart import (
    BARRED,
    Chart,
    Data,
    Drawing,
    Row,
    Scale,
    Series,
    layered,
    questioned,
    series_colour,
    series_dash,
    tooltips,
)
from tinygram_bench.report.charts.ways import (
    barred,
    clock_of,
    fields_of,
    named,
    series_in,
    series_in_turn,
    series_of,
    told,
    with_clocks,
)
from tinygram_bench.statistics.figures.runs import MIN_SAMPLES_BEYOND
from tinygram_bench.statistics.figures.samples import good_runs
from tinygram_bench.statistics.figures.spreads import pooled
from tinygram_bench.statistics.one_way import bound_us, is_of_two_clocks, least_known_us
from tinygram_bench.statistics.sizes_fits import fits_of
from tinygram_bench.statistics.workloads import WORKLOADS

PERCENTILES = (0, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.75, 99.9, 99.95, 99.975, 99.99)
COLUMNS = {"way": "way", "percentile": "percentile", "time_us": "µs", **BARRED}
_TITLES = {
    "latency": "Latency from the intended send time",
    "fanout": "Latency from the intended publication time",
    "call": "Time of a call",
    "round_trip": "Round trip",
}
"""The titles of times, and of a workload's where it has a title of its own."""
_TITLES_AT_A_RATE = {
    "call": "Time of a call from when it was due",
    "round_trip": "Round trip from when the message was due",
}
_TEXT = (
    "How long the fastest 50 %, 99 %, 99.99 % took at most. The further right, the rarer; a "
    "line ends where fewer than ten samples are beyond, and begins, between two hosts, where their "
    "clocks know a time within a fifth. The samples are pooled over the rounds, "
    "without intervals: verdicts are in the tables."
)
_TICKS = [2, 10, 100, 1_000, 10_000]
_TICK_LABELS = (
    "datum.value == 2 ? '50 %' : datum.value == 10 ? '90 %' : "
    "datum.value == 100 ? '99 %' : datum.value == 1000 ? '99.9 %' : '99.99 %'"
)


def percentile_charts(result: Result) -> Iterator[Chart]:
    """A chart for each load that has latencies, calls or round trips."""
    series, runs = series_of(result), good_runs(result)
    for at, field in enumerate(fields_of(result)):
        workload = field.entrants[0].case.workload
        time = WORKLOADS[workload].time
        rows = tuple(
            row
            for each in field.entrants
            for row in _rows(runs, each.label, [each.summary], f"{time}_ns")
        )
        if rows:
            chosen = series_in(field, series)
            name = named(f"{time.replace('_', '-')}-percentiles", at, field)
            has_rate = field.entrants[0].case.rate_per_s is not None
            title = _TITLES.get(workload, _TITLES[time])
            title = _TITLES_AT_A_RATE.get(time, title) if has_rate else title
            found = _chart(name, title, _TEXT, rows, chosen)
            yield replace(found, where=field.title)


def connect_charts(result: Result) -> Iterator[Chart]:
    """A chart of connect times, where a workload connects often enough."""
    series, runs = dict(series_of(result)), good_runs(result)
    summaries = {summary.case.case_id: summary for summary in result.summaries}
    cases = {
        entrant.label: [entrant.summary]
        for field in fields_of(result)
        for entrant in field.entrants
        if "connect" in WORKLOADS[entrant.case.workload].histograms
    }
    fits = {}
    for fit in fits_of(result.plan, result.runs):
        first = fit.cases[0]
        label = f"{first.strategy}, {SizesParameters.of(first).setup_writes} writes, {first.link}"
        fits[label] = [summaries[case.case_id] for case in fit.cases if case.case_id in summaries]
    cases |= fits
    series |= {each.label: each for each in series_in_turn(tuple(fits))}
    rows = tuple(
        row for label, found in cases.items() for row in _rows(runs, label, found, "connect_ns")
    )
    if rows:
        shown = {str(row["way"]) for row in rows}
        chosen = tuple(series[label] for label in cases if label in shown)
        text = _TEXT
        if all(case.rate_per_s is None for case in result.plan.cases):
            text += " No call and no round trip includes it."
        yield _chart("connect-percentiles", "Time to connect", text, rows, chosen)


def _rows(
    runs: Mapping[str, Sequence[Run]], label: str, summaries: Sequence[Summary], histogram: str
) -> Iterator[Mapping[str, str | float | None]]:
    """A row for each percentile of all samples of these cases; barred where a case's figure is."""
    of_all = (run for each in summaries for run in runs[each.case.case_id])
    samples = pooled(of_all, histogram)
    wrong_us = max((bound_us(each.figures) for each in summaries), default=0.0)
    wrong_us = wrong_us if is_of_two_clocks(histogram) else 0.0
    least_us = max((least_known_us(each.figures) for each in summaries), default=0.0)
    for percentile in PERCENTILES:
        beyond = samples.count * (100 - percentile) / 100
        if samples.count and beyond >= MIN_SAMPLES_BEYOND - 1e-6:
            at_ns = samples.percentile_ns(percentile) if percentile else samples.min_ns
            if histogram == "latency_ns" and at_ns / 1_000 < least_us:
                continue
            figure = _figure(histogram, percentile)
            yield {
                "way": label,
                "percentile": percentile,
                "one_in": 100 / (100 - percentile),
                "time_us": at_ns / 1_000,
                "is_barred": max(barred(each, figure) for each in summaries),
                **clock_of(wrong_us),
            }


def _figure(histogram: str, percentile: float) -> str:
    """The figure of a percentile, such as `latency_p99_9_us`, or `latency_min_us` for 0."""
    name = f"p{percentile:g}".replace(".", "_") if percentile else "min"
    return f"{histogram.removesuffix('_ns')}_{name}_us"


def _chart(
    name: str, title: str, text: str, rows: tuple[Row, ...], series: tuple[Series, ...]
) -> Chart:
    columns, rows = with_clocks(COLUMNS, rows)

    def draw(data: Data) -> Drawing:
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
                tooltip=tooltips(columns, "way", "percentile", *BARRED)
            ),
            questioned(base, dy=-12),
        )

    return Chart(name, title, told(text, rows), columns, rows, draw, series)
