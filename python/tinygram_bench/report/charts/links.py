"""Links: the round trip that was asked for, the one that was found, and how late packets were."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import altair as alt

from tinygram_bench.model.result import Result
from tinygram_bench.report.charts.bars import STEP
from tinygram_bench.report.charts.chart import (
    COLOURS,
    Chart,
    Data,
    Drawing,
    Row,
    Scale,
    Series,
    layered,
    series_colour,
    tooltips,
)
from tinygram_bench.statistics.links import LinkSummary, links_of

COLUMNS = {"link": "link", "of": "what", "time_us": "µs"}
_SERIES = (
    Series("round trip asked", COLOURS[0]),
    Series("round trip found", COLOURS[1]),
    Series("late p50", COLOURS[2]),
    Series("late p99", COLOURS[3]),
)
_SHAPES = ("circle", "diamond", "triangle-up", "triangle-down")
_TEXT = (
    "The round trip of a program's ping-pong that was asked for, and the one that was found when "
    "the link was up; and how long after their time packets were delivered. Where asked and found "
    "lie on each other, and packets are late by far less, the link was as asked."
)


def link_charts(result: Result) -> Iterator[Chart]:
    """One chart, where a link was emulated."""
    rows = tuple(row for link in links_of(result) for row in _rows(link))
    if rows:
        draw = partial(_draw, rows=rows)
        title = "Links: asked and found"
        yield Chart("links", title, _TEXT, COLUMNS, rows, draw, _SERIES, "of")


def _rows(link: LinkSummary) -> Iterator[Row]:
    asked_ns = link.facts.asked_rtt_ns
    times_us = (
        None if asked_ns is None else asked_ns / 1_000,
        link.found_rtt_us,
        link.late_p50_us,
        link.late_p99_us,
    )
    for series, time_us in zip(_SERIES, times_us, strict=True):
        if time_us is not None:
            yield {
                "link": f"{link.name} ({link.facts.backend})",
                "of": series.label,
                "time_us": time_us,
            }


def _draw(data: Data, rows: tuple[Row, ...]) -> Drawing:
    count = len({row["link"] for row in rows})
    base = alt.Chart(data, height=STEP * count).encode(y=alt.Y("link:N", axis=None, title=None))
    labels = [each.label for each in _SERIES]
    return layered(
        base.mark_point(yOffset=8, size=90, filled=True, opacity=0.9).encode(
            x=Scale.logarithmic("µs", rows, "time_us").x("time_us"),
            color=series_colour(_SERIES, "of"),
            shape=alt.Shape("of:N", title=None, scale=alt.Scale(domain=labels, range=_SHAPES)),
            tooltip=tooltips(COLUMNS, "link", "of"),
        ),
        base.transform_aggregate(groupby=["link"])
        .mark_text(align="left", dy=-8, fontSize=12)
        .encode(x=alt.value(2), text="link:N"),
    )
