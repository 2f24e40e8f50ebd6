"""The table of a sweep: a row for each point, a column for each way."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.report.numbers import (
    CLOCK_HEAD,
    HALF,
    UNKNOWN,
    clock,
    clock_note,
    median_or_half,
)
from tinygram_bench.report.prose import first_of
from tinygram_bench.report.sweeps.words import SAID, labels_of
from tinygram_bench.report.table import Column, Row, Table
from tinygram_bench.statistics.figures.words import in_words, unit_of
from tinygram_bench.statistics.one_way import Unknown
from tinygram_bench.statistics.sweeps.curves import Curve, Swept

_BEHIND, _DOUBTED = "!", "?"
_CLOCKS = clock_note("any of the row")
_TOO_FEW = f"{UNKNOWN}  too few samples for this percentile (allow more --duration)"


def table_on(swept: Swept) -> Table:
    """The table with the medians of the swept figure, as far as they may be shown."""
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
    bounds_us = [_bound_us(swept, at) for at in range(len(swept.values))]
    if any(bounds_us):
        columns = (*columns, Column(CLOCK_HEAD))
        rows = tuple(
            Row((*row.cells, clock(each))) for row, each in zip(rows, bounds_us, strict=True)
        )
        notes.append(_CLOCKS)
    if swept.sweep.limit is not None and any(map(_lacks_samples, swept.curves)):
        notes.append(_TOO_FEW)
    if any(any(curve.is_behind) for curve in swept.curves):
        notes.append(f"{_BEHIND}  fell behind its schedule in half of the rounds or more")
    doubts = dict.fromkeys(each for curve in swept.curves for each in curve.doubts if each)
    if doubts:
        notes.append(f"{_DOUBTED}  no verdict: {first_of(list(doubts), 1)}")
    unknown = [each for curve in swept.curves for each in curve.unknown if each is not None]
    if unknown:
        notes.append(_note_on(unknown))
    title = f"{in_words(swept.figure).capitalize()} at each {said.noun}" + (
        f" ({unit})" if unit else ""
    )
    return Table(title, columns, rows, tuple(notes))


def _cell(curve: Curve, at: int) -> str:
    unknown = curve.unknown[at] if curve.unknown else None
    text = median_or_half(curve.figures[at], unknown)
    doubt = _DOUBTED if any(curve.doubts[at : at + 1]) else ""
    return text + (_BEHIND if curve.is_behind[at] else doubt)


def _lacks_samples(curve: Curve) -> bool:
    """Whether a point that did not fail has no figure: a rare percentile takes many samples."""
    return any(
        not values and not failed
        for values, failed in zip(curve.rounds, curve.has_failed, strict=True)
    )


def _bound_us(swept: Swept, at: int) -> float:
    """By how much the clocks of two hosts may be wrong in any figure of a point, in µs."""
    return max(curve.bounds_us[at] or 0.0 for curve in swept.curves)


def _note_on(unknown: Sequence[Unknown]) -> str:
    """What is shown in place of figures that may not be shown, and why."""
    why = first_of(list(dict.fromkeys(each.reason for each in unknown)), 1)
    if all(each.instead is None for each in unknown):
        return f"{UNKNOWN}  not shown: {why}"
    return f"{HALF}  half of the shortest round trip, in place of the figure: {why}"
