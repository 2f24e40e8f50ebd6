"""What a reader must know beside the figures: failures, absences, warnings; the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tinygram_bench.model.result import Result, Warning
from tinygram_bench.report.rows import CaseRow
from tinygram_bench.report.tables import shown_figures
from tinygram_bench.statistics.figure_words import in_words
from tinygram_bench.statistics.loads import Load

MAX_NAMED_CASES = 3
MAX_BRIEF_NOTES = 3
_FAILED, _UNAVAILABLE, _BARS_FIGURES, _TO_KNOW, _TWO_MODES, _RETRANSMITS = range(6)
_WEIGHTS = {"two_modes": _TWO_MODES, "retransmits": _RETRANSMITS}


@dataclass(frozen=True)
class Note:
    """One note on one case. Notes of one `kind` are alike; those of less `weight` matter more.

    `is_detail`: on a table that few readers need, and shown with that.
    """

    case: str
    kind: str
    text: str
    weight: int = _TO_KNOW
    is_detail: bool = False


@dataclass(frozen=True)
class BriefNotes:
    """The few lines that everybody sees, and how many notes they leave out."""

    lines: tuple[str, ...]
    notes_left_out: int


def notes_on(
    result: Result, load: Load, rows: Sequence[CaseRow], where: str, *, are_details_shown: bool
) -> Iterator[Note]:
    """The notes on the rows of one load. `where` is appended to the names of its cases.

    Of two modes it tells where a table shows the figure.
    """
    always = set(shown_figures(load, with_details=are_details_shown))
    ever = set(shown_figures(load, with_details=True))
    for row in rows:
        case = row.label + where
        yield from _absences(result, row, case)
        warnings = row.summary.warnings if row.summary else ()
        others = [each for each in warnings if each.code != "two_modes"]
        modes = [each for each in warnings if each.code == "two_modes" and ever & {*each.figures}]
        shown = [each for each in modes if always & {*each.figures}]
        yield from warnings_as_notes(case, (*others, *shown))
        for note in warnings_as_notes(case, (each for each in modes if each not in shown)):
            yield replace(note, is_detail=True)


def failure_note(case: str, text: str) -> Note:
    """A note on rounds that failed."""
    return Note(case, "failed", text, _FAILED)


def unavailable_note(case: str, reason: str) -> Note:
    """A note on a case that cannot be measured here."""
    return Note(case, "unavailable", f"unavailable: {reason}", _UNAVAILABLE)


def warnings_as_notes(case: str, warnings: Iterable[Warning]) -> Iterator[Note]:
    """One note for each code: its first message, and which other figures have the same trouble."""
    by_code: dict[str, list[Warning]] = {}
    for warning in warnings:
        by_code.setdefault(warning.code, []).append(warning)
    for code, (first, *others) in by_code.items():
        also = tuple(dict.fromkeys(figure for each in others for figure in each.figures))
        text = first.message + (f"; also {', '.join(map(in_words, also))}" if also else "")
        weight = _WEIGHTS.get(code, _BARS_FIGURES if first.figures else _TO_KNOW)
        yield Note(case, code, text, weight)


def full_notes(notes: Iterable[Note], measured: Sequence[str]) -> tuple[str, ...]:
    """One line for each text, after the names of the cases that share it.

    `all ways` are all of `measured`, the cases that have figures.
    """
    cases_of: dict[str, list[str]] = {}
    for note in sorted(notes, key=lambda note: note.weight):
        cases = cases_of.setdefault(note.text, [])
        if note.case not in cases:
            cases.append(note.case)
    return tuple(f"{_named(cases, measured)}: {text}" for text, cases in cases_of.items())


def brief_notes(notes: Iterable[Note], measured: Sequence[str]) -> BriefNotes:
    """At most three lines: for each of the gravest kinds its first note, and how many are alike."""
    notes = tuple(notes)
    kinds: dict[str, list[Note]] = {}
    for note in sorted(notes, key=lambda note: note.weight):
        if not note.is_detail:
            kinds.setdefault(note.kind, []).append(note)
    lines, told = [], 0
    for alike in list(kinds.values())[:MAX_BRIEF_NOTES]:
        line, *others = full_notes(alike, measured)
        lines.append(line + (f"; {_alike(len(others))}" if others else ""))
        told += 1
    return BriefNotes(tuple(lines), len(full_notes(notes, measured)) - told)


def _alike(count: int) -> str:
    return "1 more note like this" if count == 1 else f"{count} more notes like this"


def _absences(result: Result, row: CaseRow, case: str) -> Iterator[Note]:
    for unavailable in result.plan.unavailable:
        if unavailable.case.case_id == row.case.case_id:
            yield unavailable_note(case, unavailable.reason)
    runs = [run for run in result.runs if run.case_id == row.case.case_id]
    failures = [run.failure for run in runs if run.failure is not None]
    if failures:
        yield failure_note(case, f"failed in {len(failures)} of {len(runs)} rounds: {failures[0]}")
    if row.absence == "not run":
        yield failure_note(case, "not run: stopped before its first round")


def _named(cases: Sequence[str], measured: Sequence[str]) -> str:
    if len(cases) > 1 and list(cases) == list(measured):
        return "all ways"
    more = len(cases) - MAX_NAMED_CASES
    return ", ".join(cases[:MAX_NAMED_CASES]) + (f" and {more} more" if more > 0 else "")
