"""The report as Markdown, with tables as GitHub and most renderers draw them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tinygram_bench.model.result import Named
from tinygram_bench.report import document_of
from tinygram_bench.report.document import full_notes
from tinygram_bench.report.table import Table

_MARKS = re.compile(r"([\\`*_<>\[\]|~#&])")
"""Characters that Markdown, or the HTML in it, would take for marks."""


def report_markdown(results: Iterable[Named]) -> str:
    """Each result under a heading: the answer, reasons, every table, then notes on them."""
    return "\n".join(line for each in results for line in _lines(each))


def _lines(named: Named) -> Iterator[str]:
    document = document_of(named.result, published=False)
    yield from (f"## {escaped(named.name)}", "", *_items(document.answer), "")
    if document.reasons:
        yield from ("### Why", "", *_items(each.text for each in document.reasons), "")
    for section in document.sections:
        if section.title is not None:
            yield from (f"### {escaped(section.title)}", "")
        for table in (*section.tables, *section.details):
            yield from _table(table)
        if section.remarks:
            yield from (*_items(section.remarks), "")
    surroundings = document.surroundings
    for paragraph in surroundings.full:
        yield from (escaped(paragraph), "")
    notes = full_notes(document.notes, document.measured)
    yield from (*_items((*surroundings.remarks, *notes)), "")


def _items(texts: Iterable[str]) -> Iterator[str]:
    return (f"- {escaped(text)}" for text in texts)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{escaped(table.title)}**", "", *table_lines(table), "")
    if table.notes:
        yield from (*_items(table.notes), "")


def table_lines(table: Table) -> Iterator[str]:
    """The columns and rows alone."""
    yield _row(column.name for column in table.columns)
    yield "|".join(("", ":--", *("--:" for _ in table.columns[1:]), ""))
    for row in table.rows:
        yield _row(row.cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def escaped(text: str) -> str:
    """The text on one line, with everything escaped that Markdown would take for a mark."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
