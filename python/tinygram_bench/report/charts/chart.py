"""A chart as a value: its data, which is also its table and its download, and how it is drawn.

Laws: everything that is drawn is in `rows`; a chart is one panel, which can be as wide as its
place; colours are those of Okabe and Ito (Color Universal Design, 2008) without yellow, which is
not visible on white.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
from msgspec import Struct

from tinygram_bench.model.result import Figure

Cell = str | float | None
Row = Mapping[str, Cell]
Data = alt.NamedData
"""The rows of a chart, for what draws them: Altair copies what it is given for each part of it."""
Drawing = alt.LayerChart

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#808080"
"""Visible on white and on black."""
DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (12, 4), (4, 4, 1, 4))
BARRED = {"is_barred": "barred by a warning"}
"""The field, and its header, for whether a row's value may get no verdict: `yes` or `no`."""
_ROWS = "rows"
CLOCK_US = "clock_us"
"""The field of a row whose value depends on the clocks of two hosts: what these may be wrong by."""
FILE_WIDTH = 720
"""The width of a chart in a file of its own, in pixels."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


class Series(Struct, frozen=True):
    """One of the series that the legend names, and shows or hides."""

    label: str
    colour: str
    dash: tuple[int, ...] = DASHES[0]


class Chart(Struct, frozen=True):
    """A chart. `name`: unique in its result, fit for a file. `text`: how to read it, in sentences.

    `where`: the chart's load, empty where the result has no other.

    `columns`: field of the rows → header of its column, with the unit. `draw` makes the panel from
    the data. `series_field`: the field with the label of the row's series. `is_detail`: the page
    has the chart folded.
    """

    name: str
    title: str
    text: str
    columns: Mapping[str, str]
    rows: tuple[Row, ...]
    draw: Callable[[Data], Drawing]
    series: tuple[Series, ...] = ()
    series_field: str = "way"
    where: str = ""
    is_detail: bool = False

    def page_spec(self) -> dict[str, Any]:
        """The Vega-Lite specification for the page, which shows title and legend itself."""
        return self._spec("container", legend=alt.LegendConfig(disable=True))

    def file_spec(self) -> dict[str, Any]:
        """The Vega-Lite specification of a picture that stands alone, on white."""
        legend = alt.LegendConfig(orient="bottom", columns=2, labelLimit=340, symbolType="stroke")
        spec = self._spec(FILE_WIDTH, legend=legend, background="white", padding=12)
        title = {"text": self.title, "subtitle": self.where, "anchor": "start", "fontSize": 15}
        return {**spec, "title": {**title, "offset": 14}, "description": self.text}

    def _spec(self, width: int | str, **config: Any) -> dict[str, Any]:
        drawing = self.draw(Data(_ROWS))
        if self.series:
            drawing = drawing.add_params(alt.param(name="hidden", value=[])).transform_filter(
                f"indexof(hidden, datum[{self.series_field!r}]) < 0"
            )
        drawing = drawing.properties(width=width).configure(
            font=FONT,
            view=alt.ViewConfig(stroke=None),
            axis=alt.AxisConfig(
                domain=False,
                ticks=False,
                labelPadding=6,
                titlePadding=10,
                gridOpacity=0.6,
                titleFontWeight="normal",
            ),
            **config,
        )
        # Checking each part against the schema of Vega-Lite takes longer than making it.
        spec: dict[str, Any] = drawing.to_dict(validate=False)
        datasets = {**spec.get("datasets", {}), _ROWS: [dict(row) for row in self.rows]}
        return {**spec, "datasets": datasets}


def around(figure: Figure | None) -> dict[str, float | None]:
    """The cells of a figure, `median`, `low` and `high`; None where there is no figure."""
    if figure is None:
        return dict.fromkeys(("median", "low", "high"))
    return {"median": figure.median, "low": figure.low, "high": figure.high}


def layered(*layers: alt.Chart) -> Drawing:
    """The layers in one panel, the last on top."""
    drawing = alt.layer(*layers)
    assert isinstance(drawing, alt.LayerChart)
    return drawing


def questioned(base: alt.Chart, **place: Any) -> alt.Chart:
    """A question mark where a row is barred, as in the tables; `place`: its offset to the value."""
    marked: alt.Chart = base.transform_filter("datum.is_barred == 'yes'").mark_text(
        text="?", fontSize=13, fontWeight="bold", **place
    )
    return marked


def series_colour(series: Sequence[Series], of: str = "way") -> alt.Color:
    """The colour of each series, fixed, so that none changes when another is hidden."""
    labels, colours = [each.label for each in series], [each.colour for each in series]
    return alt.Color(f"{of}:N", title=None, scale=alt.Scale(domain=labels, range=colours))


def series_dash(series: Sequence[Series]) -> alt.StrokeDash:
    labels, dashes = [each.label for each in series], [list(each.dash) for each in series]
    return alt.StrokeDash("way:N", title=None, scale=alt.Scale(domain=labels, range=dashes))


def tooltips(columns: Mapping[str, str], *texts: str) -> list[alt.Tooltip]:
    """Every column of the table, in its order; columns that are not in `texts` are numbers."""
    return [
        alt.Tooltip(f"{name}:N", title=header)
        if name in texts
        else alt.Tooltip(f"{name}:Q", title=header, format=",.4~r")
        for name, header in columns.items()
    ]


_THOUSANDS = (
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + 'M' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + 'k' : format(datum.value, '~g')"
)


class Scale(Struct, frozen=True):
    """An axis for quantities from 0, or with a `domain` a logarithmic axis of just this domain.

    `title` has the unit. `format`: a format of d3; empty for `20k` and `1.5M`.
    """

    title: str
    format: str = ""
    domain: tuple[float, float] | None = None

    @classmethod
    def logarithmic(
        cls, title: str, rows: Sequence[Row], *fields: str, format: str = "~s"
    ) -> Scale:
        """An axis for all values of the fields, also those of hidden series."""
        found = [row[field] for row in rows for field in fields]
        values = [value for value in found if isinstance(value, float | int) and value > 0]
        low, high = min(values, default=1.0), max(values, default=1.0)
        if low == high:
            low, high = low / 2, high * 2
        return cls(f"{title}, logarithmic", format, (low, high))

    def x(self, name: str) -> alt.X:
        return alt.X(f"{name}:Q", **self._channel())

    def y(self, name: str) -> alt.Y:
        return alt.Y(f"{name}:Q", **self._channel())

    def _channel(self) -> dict[str, Any]:
        scale = alt.Scale(zero=True)
        if self.domain is not None:
            scale = alt.Scale(type="log", domain=list(self.domain), nice=False, padding=8)
        axis = alt.Axis(tickCount=6, labelOverlap=True)
        if self.format:
            axis.format = self.format
        else:
            axis.labelExpr = _THOUSANDS
        return {"title": self.title, "scale": scale, "axis": axis}
