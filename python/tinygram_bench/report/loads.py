"""The report of messages sent and echoed: the tables of each load, and which way won."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygram_bench.model.result import Result
from tinygram_bench.report.cross_check import cross_check_sections
from tinygram_bench.report.document import Document, Section
from tinygram_bench.report.layout import Table
from tinygram_bench.report.legend import legend_of
from tinygram_bench.report.links import link_tables
from tinygram_bench.report.names import load_names, load_titles
from tinygram_bench.report.notes import Note, notes_on
from tinygram_bench.report.published import echo, stream
from tinygram_bench.report.rows import rows_of
from tinygram_bench.report.sentences import closing_sentences
from tinygram_bench.report.tables import is_detail, tables_of
from tinygram_bench.statistics.loads import Load

PUBLISHED: Mapping[str, Callable[[Result, Load], tuple[Table, ...]]] = {
    "stream": stream.published_tables,
    "echo": echo.published_tables,
}


def loads_document(result: Result, published: bool) -> Document:
    """All of the report; `published` adds the published ways, or servers."""
    titles, names = load_titles(result), load_names(result)
    sections = [Section(tables=link_tables(result))]
    notes: list[Note] = []
    measured: list[str] = []
    for load, title in titles.items():
        rows = rows_of(result, load)
        where = f" {names[load]}" if len(titles) > 1 else ""
        notes += notes_on(result, load, rows, where, are_details_shown=published)
        measured += [row.label + where for row in rows if row.absence is None]
        tables = tables_of(result, load, rows)
        beside = PUBLISHED[load.workload](result, load) if published else ()
        # Queueing is no latency: it is shown where it is asked for or set beside published figures.
        details = () if published else tuple(each for each in tables if is_detail(each))
        shown = tuple(each for each in tables if each not in details)
        sections.append(Section(title, (*shown, *beside), details))
    sections += cross_check_sections(result)
    return Document(
        closing_sentences(result),
        tuple(sections),
        tuple(notes),
        tuple(measured),
        legend_of(result),
    )
