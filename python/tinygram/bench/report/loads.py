"""The report of messages sent and echoed: the tables of each load, and which way won."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygram.bench.report.cross_check import draw_cross_check
from tinygram.bench.report.drawing import Pen
from tinygram.bench.report.layout import Table
from tinygram.bench.report.links import link_tables
from tinygram.bench.report.names import load_titles
from tinygram.bench.report.notes import notes_of
from tinygram.bench.report.opening import opening_of
from tinygram.bench.report.published import echo, stream
from tinygram.bench.report.rows import rows_of
from tinygram.bench.report.sentences import closing_sentences
from tinygram.bench.report.tables import tables_of
from tinygram.bench.result import Result
from tinygram.bench.statistics.loads import Load

PUBLISHED: Mapping[str, Callable[[Result, Load], tuple[Table, ...]]] = {
    "stream": stream.published_tables,
    "echo": echo.published_tables,
}


def draw_loads(pen: Pen, result: Result, published: bool) -> None:
    """Write all of the report; `published` adds the published ways, or servers."""
    for paragraph in opening_of(result):
        pen.write(paragraph)
    for table in link_tables(result):
        pen.draw(table)
    for load, title in load_titles(result).items():
        rows = rows_of(result, load)
        pen.head(title)
        for table in tables_of(result, load, rows):
            pen.draw(table)
        pen.list(notes_of(result, load, rows))
        for table in PUBLISHED[load.workload](result, load) if published else ():
            pen.draw(table)
    draw_cross_check(pen, result)
    pen.head("The answer")
    pen.list(closing_sentences(result), style="bold")
