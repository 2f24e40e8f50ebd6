"""Bars with intervals of the first figure on which ways are compared, for each load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import altair as alt

from tinygram_bench.model.result import Result
from tinygram_bench.report.charts.chart import (
    BARRED,
    Chart,
    Data,
    Drawing,
    Row,
    Scale,
    around,
    layered,
    series_colour,
    tooltips,
)
from tinygram_bench.report.charts.ways import (
    Entrant,
    Field,
    barred,
    clock_of,
    fields_of,
    named,
    series_in,
    series_of,
    told,
    with_clocks,
)
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.figures.words import in_words, unit_of
from tinygram_bench.statistics.one_way import bound_on
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.loads import Load

_NAMES = {
    "throughput_per_s": "throughput",
    "latency_p50_us": "latency-median",
    "calls_per_s": "calls",
    "call_p50_us": "call-median",
    "round_trip_p50_us": "round-trip-median",
}
STEP = 38
"""The height of a bar with its label above it, in pixels."""


def bar_charts(result: Result) -> Iterator[Chart]:
    """A chart for each load, with the best way first, and last the ways whose figure is barred."""
    series = series_of(result)
    for at, field in enumerate(fields_of(result)):
        case = field.entrants[0].case
        workload, figure = WORKLOADS[case.workload], Load.of(case).compared_figures[0]
        rows = _rows(field, figure)
        if rows:
            unit = unit_of(figure).strip()
            unit = f"{workload.unit} per second" if unit == "/s" else unit
            colour = series_colour(series_in(field, series))
            yield _chart(at, field, figure, unit, rows, colour)


def _rows(field: Field, figure: str) -> tuple[Row, ...]:
    def row(entrant: Entrant) -> Row:
        found = entrant.summary.figures[figure]
        assert found is not None
        note = "fastest" if entrant.is_best else "limit" if entrant.is_limit else ""
        label = f"{entrant.label} ({note})" if note else entrant.label
        is_barred = barred(entrant.summary, figure)
        return {
            "way": entrant.label,
            "label": f"{label} ?" if is_barred == "yes" else label,
            **around(found),
            "is_barred": is_barred,
            **clock_of(bound_on(entrant.summary.figures, figure)),
        }

    known = [each for each in field.entrants if each.summary.figures.get(figure) is not None]
    sign = -1 if is_higher_better(figure) else 1
    rows = map(row, known)
    return tuple(
        sorted(rows, key=lambda row: (row["is_barred"] == "yes", sign * float(row["median"] or 0)))
    )


def _chart(
    at: int, field: Field, figure: str, unit: str, rows: tuple[Row, ...], colour: alt.Color
) -> Chart:
    title, name = in_words(figure).capitalize(), _NAMES[figure]
    columns, rows = with_clocks(
        {"way": "way", "median": unit, "low": "low", "high": "high", **BARRED}, rows
    )
    better = "more is better" if is_higher_better(figure) else "less is better"

    def draw(data: Data) -> Drawing:
        return _drawn(data, len(rows), Scale(unit), colour, columns)

    text = (
        f"A bar is the median over the rounds in {unit}: {better}. The line across its end is its "
        "interval, low to high, which holds the true median with the confidence that is told below."
    )
    text = told(text, rows, " Such ways come last.")
    return Chart(named(name, at, field), title, text, columns, rows, draw, where=field.title)


def _drawn(
    data: Data, count: int, scale: Scale, colour: alt.Color, columns: Mapping[str, str]
) -> Drawing:
    """Horizontal bars of `median`, with a line from `low` to `high`, in the order of the data."""
    base = alt.Chart(data, height=STEP * count).encode(
        y=alt.Y("way:N", sort=None, axis=None, title=None),
        tooltip=tooltips(columns, "way", *BARRED),
    )
    return layered(
        base.mark_bar(height=11, yOffset=8, cornerRadiusEnd=3, opacity=0.4).encode(
            x=scale.x("median"), color=colour.legend(None)
        ),
        base.mark_rule(yOffset=8, strokeWidth=3).encode(
            x="low:Q", x2="high:Q", color=colour.legend(None)
        ),
        base.mark_text(align="left", dy=-8, fontSize=12).encode(x=alt.value(2), text="label:N"),
    )
