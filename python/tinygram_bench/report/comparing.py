"""The comparison of two results as text: the answer, what changed, and other differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf

from tinygram_bench.model.result import Figure
from tinygram_bench.report.numbers import (
    CLOCK,
    HALF,
    UNKNOWN,
    clock,
    clock_note,
    median_or_half,
    number,
    rate,
    ratio,
)
from tinygram_bench.report.prose import first_of, joined, listed
from tinygram_bench.report.table import Column, Pen, Shown, Table, table_of
from tinygram_bench.statistics.changes.change import Change
from tinygram_bench.statistics.changes.comparable import Difference
from tinygram_bench.statistics.changes.comparison import Comparison, Failing
from tinygram_bench.statistics.changes.times import FAMILY_MISSED
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.one_way import Unknown

_VALUES = 3
"""The columns up to the figure's two values."""
_WORDS = {"worse": "worse", "better": "better", "not_shown": "=", "cannot_say": "?"}
_COLUMNS: tuple[Shown[Change], ...] = (
    Shown(Column("figure"), lambda change: _figure(change)),
    Shown(Column("before"), lambda change: _value(change, change.before, change.unknown[0])),
    Shown(Column("after"), lambda change: _value(change, change.after, change.unknown[1])),
    Shown(Column("after ÷\nbefore"), lambda change: _ratio(change.ratio)),
    Shown(Column("low-high", 1), lambda change: _interval(change.ratio)),
    Shown(Column("shown"), lambda change: _WORDS[change.shown]),
)
_OF_CLOCKS: tuple[Shown[Change], ...] = (
    Shown(Column(f"{CLOCK}\nbefore"), lambda change: clock(change.bounds_us[0])),
    Shown(Column(f"{CLOCK}\nafter"), lambda change: clock(change.bounds_us[1])),
)
"""Columns where a figure of any row depends on the clocks of two hosts."""
_CLOCKS = clock_note("the figure")
_HALVED = (
    f"{HALF}  half of the shortest round trip, in place of a figure that the clocks do not know "
    "within a fifth"
)

_INTERVALS = {
    "times": "The interval of a time holds both its change and its change beside the other cases. "
    f"In {FAMILY_MISSED:.0%} of comparisons at most one misses what a case did itself, if rounds "
    "are independent and their logarithms normal, and if drift of the host met all cases of a "
    "load alike, and did not come together with a change of the others. Between two hosts that of "
    "a latency also holds what the clocks may be wrong by. Middles are geometric means of the "
    "rounds.",
    "counts": "The interval of a count is the range of the rounds, widened by as much as the count "
    "varies by itself; how often one misses is not known.",
}
"""What the intervals of each kind of change mean."""


def write_comparison(pen: Pen, comparison: Comparison, gate_told: Sequence[str]) -> None:
    """Print a comparison; `gate_told`: what the gate says, if one was asked for."""
    pen.write("The answer", "bold cyan")
    pen.list((*answer(comparison), *gate_told), style="bold")
    told = differences_told(comparison.hindrances, comparison.others)
    if told:
        pen.head("What differs in how they were measured")
        pen.list(told)
    for kind, title in (("times", "Times"), ("counts", "Counts")):
        changes = [each for each in comparison.changes if each.kind == kind]
        if changes:
            pen.draw(
                _table(f"{title}, the surest and largest change first", changes, comparison.names)
            )
    remarks = [
        f"only {when}, and not compared: {listed(names)}"
        for when, names in (("before", comparison.only_before), ("after", comparison.only_after))
        if names
    ]
    pen.write("")
    pen.list(remarks)
    pen.write(
        " ".join(
            words
            for kind, words in _INTERVALS.items()
            if any(each.kind == kind for each in comparison.changes)
        )
    )


def answer(comparison: Comparison) -> tuple[str, ...]:
    """Sentences on what is shown to have changed, and on how many figures show no change."""
    worse = [each for each in comparison.changes if each.shown == "worse"]
    better = [each for each in comparison.changes if each.shown == "better"]
    fails = tuple(f"{fails_told(each, comparison.names)}." for each in comparison.failing)
    clauses = [
        f"{len(changes)} of {len(comparison.changes)} figures {verb} shown to be {word} "
        f"({first_of([said(each, comparison.names) for each in changes])})"
        for word, changes in (("worse", worse), ("better", better))
        if changes
        for verb in ["is" if len(changes) == 1 else "are"]
    ]
    cases = "1 case" if comparison.common == 1 else f"{comparison.common} cases"
    first = f"{joined(clauses)}." if clauses else f"No change is shown in {cases}."
    unknown = sum(each.shown == "cannot_say" for each in comparison.changes)
    alike = len(comparison.changes) - len(worse) - len(better) - unknown
    return (*fails, first, *_others(alike, unknown))


def fails_told(failing: Failing, names: Mapping[str, str]) -> str:
    """`loop/nagle, stream flat out: failed in all of its 8 rounds after, and not before: why`"""
    rounds = "its only round" if failing.rounds == 1 else f"all of its {failing.rounds} rounds"
    where = names[failing.case.case_id]
    return f"{where}: failed in {rounds} after, and not before: {failing.failure}"


def _others(alike: int, unknown: int) -> tuple[str, ...]:
    if not alike:
        figures = "1 figure" if unknown == 1 else f"{unknown} figures"
        return (f"Of {figures} it cannot be said.",) if unknown else ()
    same = "1 figure shows" if alike == 1 else f"{alike} figures show"
    rest = f"; of {unknown} it cannot be said" if unknown else ""
    return (f"{same} no change{rest}.",)


def said(change: Change, names: Mapping[str, str]) -> str:
    """`loop/nodelay, stream flat out: throughput × 0.91 (0.88-0.94)`, or why it cannot be said."""
    where = f"{names[change.case.case_id]}: {_figure(change)}"
    if change.reason is not None:
        return f"{where}: {change.reason}"
    if _is_from_none(change.ratio):
        return f"{where} from none to {_value(change, change.after, None)}"
    return f"{where} × {_ratio(change.ratio)} ({_interval(change.ratio)})"


def differences_told(
    hindrances: Sequence[Difference], others: Sequence[Difference]
) -> tuple[str, ...]:
    """Each difference in how two results were measured, those that make them incomparable first."""
    return (*(f"not comparable: {each}" for each in hindrances), *map(str, others))


def _table(title: str, changes: Sequence[Change], names: Mapping[str, str]) -> Table:
    reasons = dict.fromkeys(each.reason for each in changes if each.reason is not None)
    notes = ["=  no change shown"] if any(each.shown == "not_shown" for each in changes) else []
    if reasons:
        notes.append(f"?  cannot say: {first_of(tuple(reasons), most=2)}")
    columns = _COLUMNS
    if any(bound_us for change in changes for bound_us in change.bounds_us):
        columns = (*columns[:_VALUES], *_OF_CLOCKS, *columns[_VALUES:])
        notes.append(_CLOCKS)
    if any(each is not None and each.instead for change in changes for each in change.unknown):
        notes.append(_HALVED)
    case = Shown[Change](Column("case"), lambda change: names[change.case.case_id])
    return table_of(title, (case, *columns), changes, tuple(notes))


def _figure(change: Change) -> str:
    return in_words(change.figure)


def _value(change: Change, figure: Figure | None, unknown: Unknown | None) -> str:
    if unknown is not None:
        return median_or_half(figure, unknown)
    shown = rate if change.figure.endswith("_per_s") else number
    return shown(None if figure is None else figure.median)


def _is_from_none(figure: Figure | None) -> bool:
    """Whether nothing was counted before, and something after."""
    return figure is not None and isinf(figure.median)


def _ratio(figure: Figure | None) -> str:
    if figure is None:
        return UNKNOWN
    return "from none" if _is_from_none(figure) else ratio(figure.median)


def _interval(figure: Figure | None) -> str:
    if figure is None or _is_from_none(figure):
        return UNKNOWN
    return f"{ratio(figure.low)}–{ratio(figure.high)}"
