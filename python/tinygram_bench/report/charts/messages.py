"""The numbers of messages in a write, and in a segment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import altair as alt

from tinygram_bench.model.result import Result
from tinygram_bench.report.charts.bars import STEP
from tinygram_bench.report.charts.chart import (
    BARRED,
    COLOURS,
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
    tooltips,
)
from tinygram_bench.report.charts.ways import Field, barred, fields_of, named, told

COUNTED = {
    "messages_per_write": Series("per write", COLOURS[0]),
    "messages_per_segment": Series("per segment", COLOURS[1]),
}
COLUMNS = {
    "way": "way",
    "of": "of",
    "median": "messages",
    "low": "low",
    "high": "high",
    **BARRED,
}
_TEXT = (
    "How many messages the kernel was handed in a write, and how many a TCP segment carried; "
    "medians over the rounds, with their intervals. Fewer writes and segments cost less."
)


def message_charts(result: Result) -> Iterator[Chart]:
    """A chart for each load whose writes or segments were counted."""
    for at, field in enumerate(fields_of(result)):
        rows = tuple(_rows(field))
        if rows:
            title = "Messages in a write and in a segment"
            shown = {row["of"] for row in rows}
            series = tuple(each for each in COUNTED.values() if each.label in shown)
            name = named("messages-per-write", at, field)
            draw = _drawing(rows, series, [each.label for each in field.entrants])
            text = told(_TEXT, rows)
            yield Chart(name, title, text, COLUMNS, rows, draw, series, "of", field.title)


def _rows(field: Field) -> Iterator[Mapping[str, str | float | None]]:
    for entrant in field.entrants:
        for figure, series in COUNTED.items():
            found = entrant.summary.figures.get(figure)
            if found is not None:
                yield {
                    "way": entrant.label,
                    "of": series.label,
                    **around(found),
                    "is_barred": barred(entrant.summary, figure),
                }


def _drawing(
    rows: tuple[Row, ...], series: tuple[Series, ...], labels: list[str]
) -> Callable[[Data], Drawing]:
    def draw(data: Data) -> Drawing:
        colour = series_colour(series, "of")
        base = alt.Chart(data, height=STEP * len(labels)).encode(
            y=alt.Y("way:N", sort=labels, axis=None, title=None)
        )
        scale = Scale.logarithmic("messages", rows, "low", "median", "high", format="~g")
        marks = []
        for at, each in enumerate(series):
            # One below the other, so that their intervals do not hide each other.
            place = 5 + 7 * at
            those = base.transform_filter(alt.datum.of == each.label)
            marks += [
                those.mark_rule(yOffset=place, strokeWidth=2).encode(
                    x=scale.x("low"), x2="high:Q", color=colour
                ),
                those.mark_point(yOffset=place, size=70, filled=True, opacity=1).encode(
                    x=scale.x("median"),
                    color=colour,
                    shape=alt.Shape("of:N", title=None, scale=_shapes(series)),
                    tooltip=tooltips(COLUMNS, "way", "of", *BARRED),
                ),
                questioned(those, yOffset=place, dx=12).encode(x=scale.x("median"), color=colour),
            ]
        return layered(
            *marks,
            base.transform_aggregate(groupby=["way"])
            .mark_text(align="left", dy=-8, fontSize=12)
            .encode(x=alt.value(2), text="way:N"),
        )

    return draw


def _shapes(series: tuple[Series, ...]) -> alt.Scale:
    labels = [each.label for each in series]
    return alt.Scale(domain=labels, range=["circle", "diamond"][: len(labels)])
