"""The report of `sizes`: each cell's time in its parts, the model, what it predicts, and words."""

from __future__ import annotations

from tinygram.bench.report.drawing import Pen
from tinygram.bench.report.links import link_tables
from tinygram.bench.report.opening import opening_of
from tinygram.bench.report.published.sizes import published_table
from tinygram.bench.report.sizes.tables import (
    cell_table,
    local_table,
    model_table,
    prediction_table,
)
from tinygram.bench.report.sizes.words import closing_sentences, notes_of
from tinygram.bench.result import Result
from tinygram.bench.statistics.fits import fits_of, local_parts

__all__ = ["draw_sizes"]


def draw_sizes(pen: Pen, result: Result, published: bool) -> None:
    """Print everything; `published` adds the model of the published measurements."""
    for paragraph in opening_of(result):
        pen.write(paragraph)
    fits = fits_of(result.plan, result.runs)
    for table in link_tables(result):
        pen.draw(table)
    for fit in fits:
        pen.draw(cell_table(result, fit))
    for table in (model_table(fits), prediction_table(result, fits), local_table(result)):
        if table.rows:
            pen.draw(table)
    if published:
        pen.draw(published_table())
    pen.list(notes_of(result))
    pen.head("The answer")
    parts = local_parts(result.plan, result.runs)
    pen.list(closing_sentences(result, fits, parts), style="bold")
