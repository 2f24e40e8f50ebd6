"""What a reader must know beside a load's figures: absences, failures, warnings; one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tinygram.bench.report.rows import CaseRow
from tinygram.bench.report.tables import shown_figures
from tinygram.bench.result import Result, Summary, Warning
from tinygram.bench.statistics.loads import Load

MAX_NAMED_CASES = 3


def notes_of(result: Result, load: Load, rows: Sequence[CaseRow]) -> tuple[str, ...]:
    """The notes on `rows`, as `said_once` has them."""
    notes = (
        (row.label, note)
        for row in rows
        for note in (*_absences(result, row), *_warnings(load, row.summary))
    )
    return said_once(notes, [row.label for row in rows if row.absence is None])


def said_once(
    notes: Iterable[tuple[str, str]], measured: Sequence[str] | None = None
) -> tuple[str, ...]:
    """One line for each note of (case, note); what several cases share, after their names.

    `all ways` are all of `measured`, those that have figures.
    """
    cases_of: dict[str, list[str]] = {}
    for case, note in notes:
        cases = cases_of.setdefault(note, [])
        if case not in cases:
            cases.append(case)
    return tuple(
        f"{'all ways' if len(cases) > 1 and cases == measured else _named(cases)}: {note}"
        for note, cases in cases_of.items()
    )


def _absences(result: Result, row: CaseRow) -> Iterator[str]:
    for unavailable in result.plan.unavailable:
        if unavailable.case.case_id == row.case.case_id:
            yield f"unavailable: {unavailable.reason}"
    runs = [run for run in result.runs if run.case_id == row.case.case_id]
    failures = [run.failure for run in runs if run.failure is not None]
    if failures:
        yield f"failed in {len(failures)} of {len(runs)} rounds: {failures[0]}"
    if row.absence == "not run":
        yield "not run: stopped before its first round"


def _warnings(load: Load, summary: Summary | None) -> Iterator[str]:
    """One line per code: the first message, and which other figures have the same trouble."""
    by_code: dict[str, list[Warning]] = {}
    for warning in summary.warnings if summary else ():
        if warning.code != "two_modes" or set(warning.figures) & set(shown_figures(load)):
            by_code.setdefault(warning.code, []).append(warning)
    for first, *others in by_code.values():
        also = tuple(dict.fromkeys(figure for each in others for figure in each.figures))
        yield first.message + (f"; also {', '.join(also)}" if also else "")


def _named(cases: Sequence[str]) -> str:
    more = len(cases) - MAX_NAMED_CASES
    return ", ".join(cases[:MAX_NAMED_CASES]) + (f" and {more} more" if more > 0 else "")
