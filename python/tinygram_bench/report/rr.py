"""The report of `rr`: calls, connecting apart from them, and what the kernel counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Result, Summary, Verdict
from tinygram_bench.report.cross_check import cross_check_sections
from tinygram_bench.report.document import Document, Section
from tinygram_bench.report.formats import UNKNOWN, number, rate, ratio, ratio_interval
from tinygram_bench.report.layout import Column, Row, Table
from tinygram_bench.report.legend import legend_of
from tinygram_bench.report.links import link_tables
from tinygram_bench.report.names import all_cases
from tinygram_bench.report.notes import (
    Note,
    failure_note,
    unavailable_note,
    warnings_as_notes,
)
from tinygram_bench.report.published.rr import OTHERWISE, published_table
from tinygram_bench.report.wording import confidence, paired_rounds
from tinygram_bench.statistics.counters import FORMULAS
from tinygram_bench.statistics.rr import BASELINE

US_PER_MS = 1_000
CONNECTING = (
    "Connecting (ms), which no call includes, and the kernel's counts, without the warm-up's"
)
WORDS = {
    "faster": "is faster",
    "slower": "is slower",
    "no_difference_shown": "is not shown to differ",
}
Cell = Callable[[Summary], str]

_ASPECTS: Mapping[str, Callable[[Case], str]] = {
    "runtime": lambda case: f"callers {case.runtime}",
    "connections": lambda case: _connections(case),
    "sends": lambda case: _sends(case),
    "server": lambda case: f"server {RrParameters.of(case).server_runtime}",
    "server_strategy": lambda case: f"server's {RrParameters.of(case).server_strategy or 'own'}",
    "backlog": lambda case: f"backlog {RrParameters.of(case).backlog or 'of its own'}",
    "link": lambda case: f"over {case.link}",
}


def rr_document(result: Result, published: bool) -> Document:
    """All of the report; `published` adds the published calls."""
    tables: tuple[Table, ...] = (*link_tables(result), *tables_of(result))
    remarks: tuple[str, ...] = ()
    labels = labels_of(result)
    if published:
        beside = published_table(result.summaries, labels)
        tables += () if beside is None else (beside,)
        remarks = (OTHERWISE,) if beside is None else ()
    measured = tuple(labels[each.case.case_id] for each in result.summaries if each.rounds)
    return Document(
        sentences_of(result),
        (Section(title_of(result), tables, remarks=remarks), *cross_check_sections(result)),
        notes_of(result),
        measured,
        legend_of(result),
    )


def title_of(result: Result) -> str:
    """What all cases have in common."""
    cases = all_cases(result)
    first = cases[0]
    asked = RrParameters.of(first)
    callers = f"{asked.processes} × {asked.callers_per_process}"
    parts = [
        f"rr: {callers} callers",
        f"requests of {first.message_bytes.max:,} B",
        f"replies of {asked.reply_bytes:,} B"
        + (" (content unchecked)" if not asked.checks_replies else ""),
        *(say(first) for name, say in _ASPECTS.items() if name not in _distinct(cases)),
        *(["the server acknowledges quickly"] if asked.quickack else []),
        f"placement {first.placement}",
    ]
    return ", ".join(parts)


def tables_of(result: Result) -> tuple[Table, Table]:
    """Calls; then connections, and the kernel's own counts."""
    calls: list[tuple[Column, Cell]] = [
        (Column("calls/s\nmean"), lambda summary: rate(_mean_and_sd(result, summary)[0])),
        (Column("SD", 5), lambda summary: rate(_mean_and_sd(result, summary)[1])),
        *_milliseconds("call", {"mean": 3, "p50": 0, "p99": 0, "p99_99": 2, "max": 1}),
        (Column("in\nflight", 6), _count("calls_in_flight")),
        (Column("callers'\nCPU µs", 7), _count("cpu_us_per_call")),
        (Column("server's\nCPU µs", 8), _count("server_cpu_us_per_call")),
    ]
    connecting: list[tuple[Column, Cell]] = [
        *_milliseconds("connect", {"mean": 0, "p50": 5, "p99": 3, "max": 1}),
        (Column("listen\noverflows"), _count("listen_overflows")),
        (Column("SYN\nretransmits", 4), _count("syn_retransmits")),
        (Column("delayed\nACKs", 2), _count("delayed_acks")),
        (Column("resets", 6), _count("resets")),
    ]
    return (
        _table(result, "Calls: first send to last byte of the reply (ms)", calls),
        _table(result, CONNECTING, connecting),
    )


def notes_of(result: Result) -> tuple[Note, ...]:
    """Absences, failures and warnings."""
    labels = labels_of(result)
    notes = [
        unavailable_note(labels[absent.case.case_id], absent.reason)
        for absent in result.plan.unavailable
    ]
    for summary in result.summaries:
        label = labels[summary.case.case_id]
        failures = [
            run.failure
            for run in result.runs
            if run.case_id == summary.case.case_id and run.failure is not None
        ]
        if failures:
            total = summary.rounds + summary.failed_rounds
            text = f"failed in {len(failures)} of {total} rounds: {failures[0]}"
            notes.append(failure_note(label, text))
        for warning in summary.warnings:
            notes += warnings_as_notes(label, [warning])
    return tuple(notes)


def sentences_of(result: Result) -> tuple[str, ...]:
    """How many calls each strategy makes, against the same with Nagle."""
    cases = {case.case_id: case for case in result.plan.cases}
    said = [
        _sentence(cases[verdict.case_id], verdict, result)
        for verdict in result.verdicts
        if verdict.figure == "calls_per_s"
    ]
    return tuple(said) or ("Nothing was compared: that needs nagle and nodelay of one kind.",)


def labels_of(result: Result) -> dict[str, str]:
    """case_id → the fewest words that tell it from the others: its strategy last."""
    cases = all_cases(result)
    distinct = _distinct(cases)
    return {
        case.case_id: ", ".join((*(_ASPECTS[name](case) for name in distinct), case.strategy))
        for case in cases
    }


def _sentence(case: Case, verdict: Verdict, result: Result) -> str:
    labels = labels_of(result)
    where = labels[case.case_id].removesuffix(case.strategy).removesuffix(", ")
    head = f"{where}: {case.strategy}" if where else case.strategy
    if verdict.ratio is None:
        return f"{head} against {BASELINE}: {verdict.reason or 'no round has both'}."
    found = f"{ratio(verdict.ratio.median)} × the calls/s of {BASELINE}"
    found += f" ({ratio_interval(verdict.ratio)})"
    if verdict.verdict == "cannot_say":
        return f"{head} made {found}; no verdict: {verdict.reason}."
    sure = confidence(paired_rounds(result, verdict.baseline_case_id, verdict.case_id))
    return f"{head} {WORDS[verdict.verdict]}: {found}, at {sure}."


def _table(result: Result, title: str, columns: Sequence[tuple[Column, Cell]]) -> Table:
    labels = labels_of(result)
    rows = []
    for summary in result.summaries:
        cells = [cell(summary) if summary.rounds else UNKNOWN for _, cell in columns]
        rows.append(Row((labels[summary.case.case_id], *cells)))
    return Table(title, (Column("case"), *(column for column, _ in columns)), tuple(rows))


def _milliseconds(histogram: str, statistics: Mapping[str, int]) -> list[tuple[Column, Cell]]:
    """A column for each statistic, and how soon it gives way."""

    def cell(name: str) -> Cell:
        def text(summary: Summary) -> str:
            figure = summary.figures.get(f"{histogram}_{name}_us")
            return number(None if figure is None else figure.median / US_PER_MS)

        return text

    return [
        (Column(f"{histogram}\n{name.replace('_', '.')}", give_way), cell(name))
        for name, give_way in statistics.items()
    ]


def _count(figure: str) -> Cell:
    def text(summary: Summary) -> str:
        found = summary.figures.get(figure)
        return number(None if found is None else found.median)

    return text


def _mean_and_sd(result: Result, summary: Summary) -> tuple[float | None, float | None]:
    """Of calls per second over the rounds."""
    found = [
        value
        for run in result.runs
        if run.case_id == summary.case.case_id and run.failure is None
        if (value := FORMULAS["calls_per_s"](run.counters)) is not None
    ]
    if not found:
        return None, None
    return fmean(found), stdev(found) if len(found) > 1 else None


def _connections(case: Case) -> str:
    depth = RrParameters.of(case).depth
    return str(RrParameters.of(case).connections) + (f" (depth {depth})" if depth else "")


def _sends(case: Case) -> str:
    sends = RrParameters.of(case).sends_per_request
    return "1 send" if sends == 1 else f"{sends} sends"


def _distinct(cases: Sequence[Case]) -> tuple[str, ...]:
    return tuple(name for name, say in _ASPECTS.items() if len({say(case) for case in cases}) > 1)
