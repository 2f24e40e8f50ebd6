"""A report as a value, and how it is written: the answer, the tables, then notes on them.

The gravest notes come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from tinygram_bench.model.result import Result, Warning
from tinygram_bench.report.prose import joined
from tinygram_bench.report.surroundings import Surroundings
from tinygram_bench.report.table import Pen, Table
from tinygram_bench.statistics.figures.words import in_words

MAX_NAMED_CASES = 3
MAX_BRIEF_NOTES = 3
_MOST_TABLES_NAMED = 4
_FAILED, _UNAVAILABLE, _BARS_FIGURES, _TO_KNOW, _TWO_MODES, _RETRANSMITS = range(6)
_WEIGHTS = {"two_modes": _TWO_MODES, "retransmits": _RETRANSMITS}


class Section(Struct, frozen=True):
    """The tables under one heading; `details` are those that few readers need."""

    title: str | None = None
    tables: tuple[Table, ...] = ()
    details: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()


class Note(Struct, frozen=True):
    """One note on one case. Notes of one `kind` are alike; notes with less `weight` matter more.

    `is_detail`: the note is on a table that few readers need, and is shown with that table.
    """

    case: str
    kind: str
    text: str
    weight: int = _TO_KNOW
    is_detail: bool = False


class Reason(Struct, frozen=True):
    """Why two cases differ, in a sentence. `is_detail`: the answer does not name the pair."""

    baseline_case_id: str
    case_id: str
    text: str
    is_detail: bool = False


class Document(Struct, frozen=True):
    """A report; `measured` are the labels of the cases that have figures, as in the notes.

    `reasons`: one for each pair that is shown to differ and whose difference has an account.
    """

    answer: tuple[str, ...]
    sections: tuple[Section, ...]
    notes: tuple[Note, ...]
    measured: tuple[str, ...]
    surroundings: Surroundings
    reasons: tuple[Reason, ...] = ()


def write(pen: Pen, document: Document, with_notes: bool) -> None:
    """Write a report; `with_notes` adds all reasons and notes, details and how to read figures."""
    pen.write("The answer", "bold cyan")
    pen.list(document.answer, style="bold")
    reasons = [each.text for each in document.reasons if with_notes or not each.is_detail]
    if reasons:
        pen.write("Why", "bold cyan")
        pen.list(reasons)
    for section in document.sections:
        is_shown = section.tables or section.remarks or with_notes
        if section.title is not None and is_shown:
            pen.head(section.title)
        for table in (*section.tables, *(section.details if with_notes else ())):
            pen.draw(table)
        if section.remarks:
            pen.list(section.remarks)
    pen.write("")
    surroundings = document.surroundings
    notes = full_notes(document.notes, document.measured)
    if with_notes:
        for paragraph in surroundings.full:
            pen.write(paragraph)
        pen.list((*surroundings.remarks, *notes))
        return
    brief = _brief_notes(document.notes, document.measured)
    pen.write(surroundings.brief)
    pen.list((*surroundings.remarks, *brief))
    left_out = _left_out(
        document.sections, len(notes) - len(brief), len(document.reasons) - len(reasons)
    )
    pen.write(f"With --notes you also get {left_out}.", "dim")


def _left_out(sections: Sequence[Section], notes: int, reasons: int) -> str:
    counts = {"note": notes, "reason": reasons}
    more = [f"{count} more {what}{'s'[: count - 1]}" for what, count in counts.items() if count]
    titles = (table.title for section in sections for table in section.details)
    tables = [f"the table “{title}”" for title in dict.fromkeys(titles)]
    more += tables if len(tables) <= _MOST_TABLES_NAMED else [f"{len(tables)} more tables"]
    return joined([*more, "how to read the figures"])


def warnings_as_notes(case: str, warnings: Iterable[Warning]) -> Iterator[Note]:
    """One note for each code: its first message, and the other figures with the same trouble."""
    by_code: dict[str, list[Warning]] = {}
    for warning in warnings:
        by_code.setdefault(warning.code, []).append(warning)
    for code, (first, *others) in by_code.items():
        also = tuple(dict.fromkeys(figure for each in others for figure in each.figures))
        text = first.message + (f"; also {', '.join(map(in_words, also))}" if also else "")
        weight = _WEIGHTS.get(code, _BARS_FIGURES if first.figures else _TO_KNOW)
        yield Note(case, code, text, weight)


def unavailable_note(case: str, reason: str) -> Note:
    return Note(case, "unavailable", f"unavailable: {reason}", _UNAVAILABLE)


def failure_note(case: str, text: str) -> Note:
    return Note(case, "failed", text, _FAILED)


def failure_notes(result: Result) -> Callable[[str, str], Iterator[Note]]:
    """Case id and label → a note where the case has failed runs, otherwise none.

    It tells in how many rounds the case failed, and how it did at first.
    """
    rounds = Counter(run.case_id for run in result.runs)
    failures: dict[str, list[str]] = {}
    for run in result.runs:
        if run.failure is not None:
            failures.setdefault(run.case_id, []).append(run.failure)

    def notes(case_id: str, label: str) -> Iterator[Note]:
        if of_case := failures.get(case_id):
            told = f"failed in {len(of_case)} of {rounds[case_id]} rounds: {of_case[0]}"
            yield failure_note(label, told)

    return notes


def full_notes(notes: Iterable[Note], measured: Sequence[str]) -> tuple[str, ...]:
    """One line for each text, which begins with the names of the cases that share it.

    `all ways` stands for all of `measured`, the cases that have figures.
    """
    cases_of: dict[str, list[str]] = {}
    for note in sorted(notes, key=lambda note: note.weight):
        cases = cases_of.setdefault(note.text, [])
        if note.case not in cases:
            cases.append(note.case)
    return tuple(f"{_named(cases, measured)}: {text}" for text, cases in cases_of.items())


def _brief_notes(notes: Iterable[Note], measured: Sequence[str]) -> list[str]:
    """At most three lines: the first note of each of the gravest kinds, and how many are alike."""
    kinds: dict[str, list[Note]] = {}
    for note in sorted(notes, key=lambda note: note.weight):
        if not note.is_detail:
            kinds.setdefault(note.kind, []).append(note)
    lines = []
    for alike in list(kinds.values())[:MAX_BRIEF_NOTES]:
        line, *others = full_notes(alike, measured)
        lines.append(line + (f"; {_alike(len(others))}" if others else ""))
    return lines


def _alike(count: int) -> str:
    return "1 more note like this" if count == 1 else f"{count} more notes like this"


def _named(cases: Sequence[str], measured: Sequence[str]) -> str:
    if len(cases) > 1 and list(cases) == list(measured):
        return "all ways"
    more = len(cases) - MAX_NAMED_CASES
    return ", ".join(cases[:MAX_NAMED_CASES]) + (f" and {more} more" if more > 0 else "")
