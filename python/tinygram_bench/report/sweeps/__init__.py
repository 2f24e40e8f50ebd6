"""The report of a sweep: what it answers, and a table of all points; made of a stored result."""

from __future__ import annotations

from dataclasses import replace

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document, Section
from tinygram_bench.report.sweeps.sentences import sentences_on
from tinygram_bench.report.sweeps.table import table_on
from tinygram_bench.statistics.sweeps.curves import swept_of


def with_sweep(document: Document, result: Result) -> Document:
    """The report of a sweep first; the tables of single points are details of it."""
    swept = swept_of(result.plan, result.runs)
    return replace(
        document,
        answer=sentences_on(swept),
        sections=(
            Section("The sweep", (table_on(swept),)),
            *(
                Section(each.title, (), (*each.tables, *each.details), each.remarks)
                for each in document.sections
            ),
        ),
    )
