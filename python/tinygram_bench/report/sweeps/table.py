"""The table of a sweep: a row for each point, a column for each way."""

from __future__ import annotations

from tinygram_bench.report.numbers import UNKNOWN, median
from tinygram_bench.report.prose import first_of
from tinygram_bench.report.sweeps.words import SAID, labels_of
from tinygram_bench.report.table import Column, Row, Table
from tinygram_bench.statistics.figures.words import in_words, unit_of
from tinygram_bench.statistics.sweeps.curves import Curve, Swept

_BEHIND, _DOUBTED = "!", "?"


def table_on(swept: Swept) -> Table:
    """The table with the medians of the swept figure."""
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
    notes = []
    if any(any(curve.is_behind) for curve in swept.curves):
        notes.append(f"{_BEHIND}  fell behind its schedule in half of the rounds or more")
    doubts = dict.fromkeys(each for curve in swept.curves for each in curve.doubts if each)
    if doubts:
        notes.append(f"{_DOUBTED}  no verdict: {first_of(list(doubts), 1)}")
    title = f"{in_words(swept.figure).capitalize()} at each {said.noun}" + (
        f" ({unit})" if unit else ""
    )
    return Table(title, columns, rows, tuple(notes))


def _cell(curve: Curve, at: int) -> str:
    figure = curve.figures[at]
    text = UNKNOWN if figure is None else median(figure)
    doubt = _DOUBTED if any(curve.doubts[at : at + 1]) else ""
    return text + (_BEHIND if curve.is_behind[at] else doubt)
