"""A report as a value, and how it is written: the answer, the tables, then what to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinygram_bench.report.drawing import Pen
from tinygram_bench.report.layout import Table
from tinygram_bench.report.legend import Legend
from tinygram_bench.report.notes import Note, brief_notes, full_notes
from tinygram_bench.report.wording import joined


@dataclass(frozen=True)
class Section:
    """What belongs together under a heading; `details` are tables that few readers need."""

    title: str | None = None
    tables: tuple[Table, ...] = ()
    details: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A report.

    `measured` are the labels of the cases that have figures, as in the notes; `surroundings` what
    holds for all figures alike.
    """

    answer: tuple[str, ...]
    sections: tuple[Section, ...]
    notes: tuple[Note, ...]
    measured: tuple[str, ...]
    legend: Legend
    surroundings: tuple[str, ...] = ()


def write(pen: Pen, document: Document, with_notes: bool) -> None:
    """Write it; `with_notes` adds every note, the details and how to read the figures."""
    pen.write("The answer", "bold cyan")
    pen.list(document.answer, style="bold")
    for section in document.sections:
        if section.title is not None:
            pen.head(section.title)
        for table in (*section.tables, *(section.details if with_notes else ())):
            pen.draw(table)
        if section.remarks:
            pen.list(section.remarks)
    pen.write("")
    if with_notes:
        for paragraph in document.legend.full:
            pen.write(paragraph)
        pen.list(document.surroundings)
        pen.list(full_notes(document.notes, document.measured))
        return
    pen.write(document.legend.brief)
    pen.list(document.surroundings)
    brief = brief_notes(document.notes, document.measured)
    pen.list(brief.lines)
    left_out = _left_out(document.sections, brief.notes_left_out)
    pen.write(f"With --notes you also get {left_out}.", "dim")


def _left_out(sections: Sequence[Section], notes: int) -> str:
    more = [f"{notes} more notes" if notes > 1 else "1 more note"] if notes else []
    titles = (table.title for section in sections for table in section.details)
    more += [f"the table “{title}”" for title in dict.fromkeys(titles)]
    return joined([*more, "how to read the figures"])
