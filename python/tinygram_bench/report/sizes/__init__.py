"""The report of `sizes`: each cell's time in its parts, the model, what it predicts, and words."""

from __future__ import annotations

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document, Section
from tinygram_bench.report.legend import legend_of
from tinygram_bench.report.links import link_tables
from tinygram_bench.report.published.sizes import published_table
from tinygram_bench.report.sizes.tables import (
    cell_table,
    local_table,
    model_table,
    prediction_table,
)
from tinygram_bench.report.sizes.words import closing_sentences, notes_of
from tinygram_bench.statistics.fits import fits_of, local_parts

__all__ = ["sizes_document"]


def sizes_document(result: Result, published: bool) -> Document:
    """All of the report; `published` adds the model of the published measurements."""
    fits = fits_of(result.plan, result.runs)
    found = (model_table(fits), prediction_table(result, fits), local_table(result))
    tables = (
        *link_tables(result),
        *(cell_table(result, fit) for fit in fits),
        *(table for table in found if table.rows),
        *((published_table(),) if published else ()),
    )
    answer = closing_sentences(result, fits, local_parts(result.plan, result.runs))
    return Document(answer, (Section(tables=tables),), notes_of(result), (), legend_of(result))
