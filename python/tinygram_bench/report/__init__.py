"""Reports: a result, as a person reads it. Everything printed comes from the `Result` alone.

The answer comes first: the sentences that say which way won.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document, write
from tinygram_bench.report.ending import ending_told
from tinygram_bench.report.prose import all_cases
from tinygram_bench.report.study import answer_of_study
from tinygram_bench.report.sweeps import by_value, with_sweep
from tinygram_bench.report.table import Pen
from tinygram_bench.report.workloads import REPORTS

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["answer_of", "document_of", "render"]


def render(result: Result, console: Console, published: bool, with_notes: bool = False) -> None:
    """Print the answer, the tables and notes on them.

    `published` adds the published figures beside those measured here; `with_notes` adds every note,
    the tables that few readers need and how to read the figures. On a terminal, columns that do not
    fit are left out, and a note says so; elsewhere, lines are plain ASCII and never wrapped.
    """
    write(Pen(console), document_of(result, published), with_notes)


def answer_of(result: Result) -> tuple[str, ...]:
    """The answer, sentence by sentence: what was found, by how much, and how sure that is."""
    return document_of(result, published=False).answer


def document_of(result: Result, published: bool) -> Document:
    """The whole report as a value, with or without the published figures."""
    workload = next((case.workload for case in all_cases(result)), "stream")
    if result.plan.sweep is not None:
        result = by_value(result)
    document = REPORTS[workload](result, published)
    if result.plan.sweep is not None:
        document = with_sweep(document, result)
    if result.is_condensed:
        return replace(document, answer=result.answer)
    if (of_study := answer_of_study(result)) is not None:
        return replace(document, answer=of_study)
    return replace(document, answer=(*document.answer, *ending_told(result)))
