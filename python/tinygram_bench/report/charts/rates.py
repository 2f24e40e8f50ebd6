"""Latency against rate, with the highest rate that each way kept up with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

import altair as alt

from tinygram_bench.model.result import Result, Run
from tinygram_bench.report.charts.chart import (
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
from tinygram_bench.report.charts.ways import Entrant, fields_of, series_of
from tinygram_bench.statistics.recurring import FELL_BEHIND, recurs

_SHOWN = {"latency_p50_us": "median", "latency_p99_us": "p99"}
COLUMNS = {
    "way": "way",
    "rate_per_s": "messages per second",
    "median": "µs",
    "low": "low",
    "high": "high",
    "kept_up": "kept up",
}


def rate_charts(result: Result) -> Iterator[Chart]:
    """A chart for the median and one for p99, where a way was measured at two rates or more."""
    ways: dict[str, list[Entrant]] = {}
    for field in fields_of(result):
        for entrant in field.entrants:
            if entrant.case.rate_per_s is not None:
                ways.setdefault(entrant.label, []).append(entrant)
    series, behind = series_of(result), _behind_in(result.runs)
    for figure, said in _SHOWN.items():
        rows = tuple(row for way in ways.values() for row in _rows(way, figure, behind))
        if len({row["rate_per_s"] for row in rows}) > 1:
            shown = dict.fromkeys(str(row["way"]) for row in rows)
            yield _chart(said, rows, tuple(series[label] for label in shown))


def _behind_in(runs: Iterable[Run]) -> frozenset[str]:
    """The cases that fell behind their schedule, as in a sweep's table."""
    runs_of: dict[str, list[Run]] = {}
    for run in runs:
        runs_of.setdefault(run.case_id, []).append(run)
    return frozenset(case_id for case_id, of in runs_of.items() if recurs(FELL_BEHIND, of))


def _rows(way: list[Entrant], figure: str, behind: frozenset[str]) -> Iterator[Row]:
    by_rate = sorted(way, key=lambda each: each.case.rate_per_s or 0)
    held = takewhile(lambda id_: id_ not in behind, (each.case.case_id for each in by_rate))
    kept_up = dict.fromkeys(behind, "no") | dict.fromkeys([*held][-1:], "up to here")
    for each in by_rate:
        found = each.summary.figures.get(figure)
        if found is not None:
            yield {
                "way": each.label,
                "rate_per_s": each.case.rate_per_s,
                "median": found.median,
                "low": found.low,
                "high": found.high,
                "kept_up": kept_up.get(each.case.case_id, "yes"),
            }


def _chart(said: str, rows: tuple[Row, ...], series: tuple[Series, ...]) -> Chart:
    def draw(data: alt.InlineData) -> Drawing:
        base = alt.Chart(data, height=340).encode(
            x=Scale.logarithmic("messages per second", rows, "rate_per_s").x("rate_per_s"),
            y=Scale.logarithmic("µs", rows, "low", "median", "high").y("median"),
            color=series_colour(series),
        )
        marked = base.transform_filter("datum.kept_up == 'up to here'")
        behind = base.transform_filter("datum.kept_up == 'no'")
        return layered(
            base.mark_line(strokeWidth=2).encode(strokeDash=series_dash(series)),
            base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
                y=Scale.logarithmic("µs", rows, "low", "median", "high").y("low"), y2="high:Q"
            ),
            base.mark_circle(size=42, opacity=1).encode(
                tooltip=tooltips(COLUMNS, "way", "kept_up")
            ),
            marked.mark_point(size=190, strokeWidth=2, filled=False),
            behind.mark_point(size=150, strokeWidth=2, shape="cross", filled=False, angle=45),
        )

    text = (
        f"The {said} of the latency at each rate, with its interval. A cross marks a rate at which "
        "a way fell behind its schedule in half of the rounds or more. A ring marks the highest "
        "rate that it kept up with, as it did with all lower ones."
    )
    name = f"latency-against-rate-{said}"
    return Chart(name, f"Latency against rate: {said}", text, COLUMNS, rows, draw, series)
