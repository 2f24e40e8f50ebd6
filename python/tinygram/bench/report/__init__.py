"""Reports: a result, as a person reads it. Everything printed comes from the `Result` alone.

The answer is what one sees: the sentences that say which way won come last.
"""

from __future__ import annotations

from rich.console import Console

from tinygram.bench.report.beside import published_tables
from tinygram.bench.report.calls import draw_calls, is_of_calls
from tinygram.bench.report.cross_check import draw_cross_check
from tinygram.bench.report.drawing import Pen
from tinygram.bench.report.echo_published import echo_published_tables
from tinygram.bench.report.layout import Table
from tinygram.bench.report.names import load_titles
from tinygram.bench.report.notes import notes_of
from tinygram.bench.report.opening import opening_of
from tinygram.bench.report.rows import rows_of
from tinygram.bench.report.sentences import closing_sentences
from tinygram.bench.report.sizes import render_sizes
from tinygram.bench.report.tables import tables_of
from tinygram.bench.result import Result

__all__ = ["render"]


def render(result: Result, console: Console, published: bool) -> None:
    """Print the tables of every load, what to know about them, and the answer.

    `published` adds the published ways, or servers, beside those measured here. On a terminal,
    columns that do not fit are left out, which is said; elsewhere, lines are plain ASCII and never
    wrapped.
    """
    pen = Pen(console)
    if is_of_calls(result):
        draw_calls(pen, result, published)
        return
    if any(case.workload == "sizes" for case in result.plan.cases):
        render_sizes(result, pen, published)
        return
    for paragraph in opening_of(result):
        pen.write(paragraph)
    for load, title in load_titles(result).items():
        rows = rows_of(result, load)
        pen.head(title)
        _draw(pen, tables_of(result, load, rows))
        pen.list(notes_of(result, load, rows))
        if published and load.is_closed_loop:
            _draw(pen, echo_published_tables(result, load))
        elif published and load.is_flat_out:
            _draw(pen, published_tables(result, load))
    draw_cross_check(pen, result)
    pen.head("The answer")
    pen.list(closing_sentences(result), style="bold")


def _draw(pen: Pen, tables: tuple[Table, ...]) -> None:
    for table in tables:
        pen.draw(table)
