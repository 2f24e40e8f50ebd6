"""Reports of ways that compete under loads: the tables of each load, and which way won."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import (
    Document,
    Note,
    Section,
    failure_note,
    failure_notes,
    unavailable_note,
    warnings_as_notes,
)
from tinygram_bench.report.loads.hosts import host_tables, part_tables
from tinygram_bench.report.loads.tables import CaseRow, LoadTable, drawn, rows_by_load
from tinygram_bench.report.loads.winners import closing_sentences, named_pairs
from tinygram_bench.report.peers import cross_check_sections
from tinygram_bench.report.prose import load_names, load_titles
from tinygram_bench.report.surroundings import link_tables, surroundings_of
from tinygram_bench.report.table import Table
from tinygram_bench.report.why import reasons_of
from tinygram_bench.statistics.verdicts.contests import verdicts_by_pair
from tinygram_bench.statistics.workloads.loads import Load, way_of


def loads_document(
    result: Result,
    tables_of: Callable[[Load], tuple[LoadTable, ...]],
    beside: Callable[[Result, Load], tuple[Table, ...]] | None,
    cpu: str,
) -> Document:
    """The whole report.

    `tables_of`: the tables of a load. `beside`: the tables of published figures; where they are
    asked for, no table is a detail. `cpu`: what CPU means.
    """
    titles, names = load_titles(result), load_names(result)
    ways = {case.case_id: way_of(case) for case in result.plan.cases}
    sections = [
        Section(
            tables=(*link_tables(result), *host_tables(result)), details=part_tables(result, ways)
        )
    ]
    verdicts, failed = verdicts_by_pair(result), failure_notes(result)
    rows_of = rows_by_load(result)
    notes: list[Note] = []
    measured: list[str] = []
    for load, title in titles.items():
        rows = rows_of[load]
        where = f" {names[load]}" if len(titles) > 1 else ""
        tables = tables_of(load)
        # Queueing is not latency: show it where asked for, or beside published figures.
        shown = [each for each in tables if beside or not each.is_detail]
        notes += _notes_on(result, rows, failed, where, _figures_in(shown), _figures_in(tables))
        measured += [row.label + where for row in rows if row.absence is None]
        sections.append(
            Section(
                title,
                (
                    *(drawn(verdicts, load, each, rows) for each in shown),
                    *(beside(result, load) if beside else ()),
                ),
                tuple(drawn(verdicts, load, each, rows) for each in tables if each not in shown),
            )
        )
    sections += cross_check_sections(result)
    return Document(
        closing_sentences(result),
        tuple(sections),
        tuple(notes),
        tuple(measured),
        surroundings_of(result, cpu),
        reasons_of(result, named_pairs(result)),
    )


def _figures_in(tables: Sequence[LoadTable]) -> set[str]:
    return {each.figure for table in tables for each in table.shown}


def _notes_on(
    result: Result,
    rows: Sequence[CaseRow],
    failed: Callable[[str, str], Iterator[Note]],
    where: str,
    always: set[str],
    ever: set[str],
) -> Iterator[Note]:
    """The notes on the rows of one load. `where` is appended to the names of its cases.

    `failed`: case_id and the name → the note on its failures, if it has any.
    Two modes are told where a table shows the figure: `always`, or with details `ever`.
    """
    for row in rows:
        case = row.label + where
        for absent in result.plan.unavailable:
            if absent.case.case_id == row.case.case_id:
                yield unavailable_note(case, absent.reason)
        yield from failed(row.case.case_id, case)
        if row.absence == "not run":
            yield failure_note(case, "not run: stopped before its first round")
        warnings = row.summary.warnings if row.summary else ()
        others = [each for each in warnings if each.code != "two_modes"]
        modes = [each for each in warnings if each.code == "two_modes" and ever & {*each.figures}]
        shown = [each for each in modes if always & {*each.figures}]
        yield from warnings_as_notes(case, (*others, *shown))
        for note in warnings_as_notes(case, (each for each in modes if each not in shown)):
            yield replace(note, is_detail=True)
