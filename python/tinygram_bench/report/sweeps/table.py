"""The table of a sweep: a row for each point, a column for each way."""

from __future__ import annotations

from tinygram_bench.report.numbers import UNKNOWN, median
from tinygram_bench.report.sweeps.words import SAID, labels_of
from tinygram_bench.report.table import Column, Row, Table
from tinygram_bench.statistics.figures.words import in_words, unit_of
from tinygram_bench.statistics.sweeps.curves import Curve, Swept

_BEHIND = "!"


def table_on(swept: Swept) -> Table:
    """The medians of the swept figure."""
    said = SAID[swept.sweep.parameter]
    unit = unit_of(swept.figure).strip()
    columns = (
        Column(said.noun),
        *(
            Column(label.replace("/", "\n").replace(", ", "\n"), min(at, 1))
            for at, label in enumerate(labels_of(swept).values())
        ),
    )
    rows = tuple(
        Row((said.value(value), *(_cell(curve, at) for curve in swept.curves)))
        for at, value in enumerate(swept.values)
    )
    is_marked = any(any(curve.is_behind) for curve in swept.curves)
    note = f"{_BEHIND}  fell behind its schedule in half of the rounds or more"
    title = f"{in_words(swept.figure).capitalize()} at each {said.noun}" + (
        f" ({unit})" if unit else ""
    )
    return Table(title, columns, rows, (note,) if is_marked else ())


def _cell(curve: Curve, at: int) -> str:
    figure = curve.figures[at]
    text = UNKNOWN if figure is None else median(figure)
    return text + (_BEHIND if curve.is_behind[at] else "")
