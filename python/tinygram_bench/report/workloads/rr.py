"""The report of `rr`: calls, connecting apart from them, and the kernel's counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from math import log
from statistics import fmean, stdev

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Result, Run, Summary, Verdict
from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.report.document import (
    Document,
    Note,
    Section,
    failure_notes,
    unavailable_note,
    warnings_as_notes,
)
from tinygram_bench.report.loads.hosts import host_tables, part_tables
from tinygram_bench.report.loads.tables import shown_median
from tinygram_bench.report.numbers import UNKNOWN, number, rate, ratio_of, spread_of
from tinygram_bench.report.peers import cross_check_sections
from tinygram_bench.report.prose import all_cases, confidence, pace, paired_rounds
from tinygram_bench.report.published.rr import OTHERWISE, published_table
from tinygram_bench.report.surroundings import link_tables, surroundings_of
from tinygram_bench.report.table import Column, Row, Shown, Table
from tinygram_bench.report.why import reasons_of
from tinygram_bench.statistics.figures.counters import FORMULAS
from tinygram_bench.statistics.figures.intervals import looks_of
from tinygram_bench.statistics.figures.samples import good_runs
from tinygram_bench.statistics.workloads.loads import Load

US_PER_MS = 1_000
CALLS = "Calls: first send to last byte of the reply (ms)"
CALLS_AT_A_RATE = "Calls: from when they were due to the last byte of the reply (ms)"
_COUNTS = "and the kernel's counts, without the warm-up's"
CONNECTING = f"Connecting (ms), which no call includes, {_COUNTS}"
CONNECTING_AT_A_RATE = f"Connecting (ms), {_COUNTS}"
WORDS = {
    "faster": "is faster",
    "slower": "is slower",
    "no_difference_shown": "is not shown to differ",
}
_SAID = {"calls_per_s": ("calls/s", "made"), "call_p50_us": ("median call time", "had")}
"""The first figure that calls are compared by → its name, and a verb for the case that had it."""

_ASPECTS: Mapping[str, Callable[[Case], str]] = {
    "rate": lambda case: pace(Load.of(case)),
    "runtime": lambda case: f"callers {_runtime(case)}",
    "connections": lambda case: _connections(case),
    "sends": lambda case: _sends(case),
    "server": lambda case: f"server {RrParameters.of(case).server_runtime}",
    "server_strategy": lambda case: f"server's {RrParameters.of(case).server_strategy or 'own'}",
    "backlog": lambda case: f"backlog {RrParameters.of(case).backlog or 'of its own'}",
    "link": lambda case: f"over {case.link}",
    "tls": lambda case: "over TLS 1.3" if RrParameters.of(case).tls else "without TLS",
}


def rr_document(result: Result, published: bool) -> Document:
    labels = labels_of(result)
    tables: tuple[Table, ...] = (
        *link_tables(result),
        *host_tables(result),
        *_tables_of(result),
    )
    remarks: tuple[str, ...] = ()
    if published:
        beside = published_table(result.summaries, labels)
        tables += () if beside is None else (beside,)
        remarks = (OTHERWISE,) if beside is None else ()
    measured = tuple(labels[each.case.case_id] for each in result.summaries if each.rounds)
    return Document(
        _sentences_of(result),
        (
            Section(
                _title_of(result), tables, remarks=remarks, details=part_tables(result, labels)
            ),
            *cross_check_sections(result),
        ),
        _notes_of(result),
        measured,
        surroundings_of(result),
        reasons_of(result, where=partial(_where, labels)),
    )


def _title_of(result: Result) -> str:
    """A title of what all cases have in common."""
    cases = all_cases(result)
    first = cases[0]
    asked = RrParameters.of(first)
    callers = list(dict.fromkeys(map(_callers, cases)))
    parts = [
        f"rr: {' or '.join(callers)} callers",
        f"requests of {first.message_bytes.max:,} B",
        f"replies of {asked.reply_bytes:,} B"
        + (" (content unchecked)" if not asked.checks_replies else ""),
        *(
            say(first)
            for name, say in _ASPECTS.items()
            if name not in _distinct(cases) and not _goes_without_saying(name, first)
        ),
        *(["the server acknowledges quickly"] if asked.quickack else []),
        f"placement {first.placement}",
    ]
    return ", ".join(parts)


def _goes_without_saying(aspect: str, case: Case) -> bool:
    """Whether the case has what is usual, and nothing needs to be said of it."""
    has_rate, has_tls = case.rate_per_s is not None, RrParameters.of(case).tls
    return {"rate": not has_rate, "tls": not has_tls}.get(aspect, False)


def _tables_of(result: Result) -> tuple[Table, ...]:
    calls = {case_id: _mean_and_sd(runs) for case_id, runs in good_runs(result).items()}
    is_paced = any(case.rate_per_s is not None for case in all_cases(result))
    over_tls = [each for each in result.summaries if RrParameters.of(each.case).tls]
    of_tls = _table(
        result,
        "TLS records of the requests, and what they take on the wire",
        shown_median("records\n/call", "records_per_call", 0),
        shown_median("wire B\n/call", "wire_bytes_per_call", 0),
        summaries=over_tls,
    )
    return (
        _table(
            result,
            CALLS_AT_A_RATE if is_paced else CALLS,
            Shown(Column("calls/s\nmean"), lambda each: rate(calls[each.case.case_id][0])),
            Shown(Column("SD", 5), lambda each: rate(calls[each.case.case_id][1])),
            *_milliseconds("call", {"mean": 3, "p50": 0, "p99": 0, "p99_99": 2, "max": 1}),
            *(_milliseconds("start_delay", {"p50": 6, "p99": 5}) if is_paced else ()),
            shown_median("in\nflight", "calls_in_flight", 6),
            shown_median("callers'\nCPU µs", "cpu_us_per_call", 7),
            shown_median("server's\nCPU µs", "server_cpu_us_per_call", 8),
        ),
        _table(
            result,
            CONNECTING_AT_A_RATE if is_paced else CONNECTING,
            *_milliseconds("connect", {"mean": 0, "p50": 5, "p99": 3, "max": 1}),
            shown_median("listen\noverflows", "listen_overflows", 0),
            shown_median("SYN\nretransmits", "syn_retransmits", 4),
            shown_median("delayed\nACKs", "delayed_acks", 2),
            shown_median("resets", "resets", 6),
        ),
        *((of_tls,) if over_tls else ()),
    )


def _notes_of(result: Result) -> tuple[Note, ...]:
    labels, failed = labels_of(result), failure_notes(result)
    notes = [
        unavailable_note(labels[absent.case.case_id], absent.reason)
        for absent in result.plan.unavailable
    ]
    for summary in result.summaries:
        label = labels[summary.case.case_id]
        notes += failed(summary.case.case_id, label)
        for warning in summary.warnings:
            notes += warnings_as_notes(label, [warning])
    return tuple(notes)


def _sentences_of(result: Result) -> tuple[str, ...]:
    """Sentences on how many calls each strategy makes, against its baseline; at a rate, how long.

    Strategies that are shown to differ come first, and of these the one that differs most.
    """
    cases = {case.case_id: case for case in result.plan.cases}
    verdicts = [
        verdict
        for verdict in result.verdicts
        if verdict.figure == Load.of(cases[verdict.case_id]).compared_figures[0]
    ]
    said = [
        _sentence(cases[verdict.case_id], cases[verdict.baseline_case_id], verdict, result)
        for verdict in sorted(verdicts, key=_shown_difference, reverse=True)
    ]
    return tuple(said) or (
        "Nothing was compared: that needs nagle and nodelay, or one of them and another strategy, "
        "or callers of two runtimes, with the same connections.",
    )


def _shown_difference(verdict: Verdict) -> float:
    """The size of the shown difference, as a logarithm; 0 where none is shown."""
    is_shown = verdict.verdict in ("faster", "slower")
    return abs(log(verdict.ratio.median)) if is_shown and verdict.ratio is not None else 0.0


def labels_of(result: Result, but_for: Collection[str] = ()) -> dict[str, str]:
    """case_id → the fewest words that tell the case from the others, its strategy last.

    `but_for`: aspects that are told in another way.
    """
    cases = all_cases(result)
    distinct = [name for name in _distinct(cases) if name not in but_for]
    return {
        case.case_id: ", ".join((*(_ASPECTS[name](case) for name in distinct), case.strategy))
        for case in cases
    }


def _where(labels: Mapping[str, str], case: Case) -> str:
    """A case's label without its strategy."""
    return labels[case.case_id].removesuffix(case.strategy).removesuffix(", ")


def _sentence(case: Case, base: Case, verdict: Verdict, result: Result) -> str:
    where = _where(labels_of(result), case)
    head = f"{where}: {case.strategy}" if where else case.strategy
    is_same = base.strategy == case.strategy
    baseline = f"callers {_runtime(base)}" if is_same else base.strategy
    if verdict.ratio is None:
        return f"{head} against {baseline}: {verdict.reason or 'no round has both'}."
    what, verb = _SAID[verdict.figure]
    found = f"{ratio_of(verdict)} × the {what} of {baseline} ({spread_of(verdict)})"
    if verdict.verdict == "cannot_say":
        return f"{head} {verb} {found}; no verdict: {verdict.reason}."
    paired = paired_rounds(result, verdict.baseline_case_id, verdict.case_id)
    sure = confidence(paired, looks_of(result.plan))
    return f"{head} {WORDS[verdict.verdict]}: {found}, at {sure}."


def _table(
    result: Result,
    title: str,
    *shown: Shown[Summary],
    summaries: Sequence[Summary] | None = None,
) -> Table:
    """A row per case, for some or all cases; without figures where no round was good."""
    labels = labels_of(result)

    def row(summary: Summary) -> Row:
        cells = [each.text(summary) if summary.rounds else UNKNOWN for each in shown]
        return Row((labels[summary.case.case_id], *cells))

    columns = (Column("case"), *(each.column for each in shown))
    rows = map(row, result.summaries if summaries is None else summaries)
    return Table(title, columns, tuple(rows))


def _milliseconds(histogram: str, statistics: Mapping[str, int]) -> Iterator[Shown[Summary]]:
    """A column for each statistic; `statistics` says how soon each gives way."""

    def shown(name: str, give_way: int) -> Shown[Summary]:
        def text(summary: Summary) -> str:
            figure = summary.figures.get(f"{histogram}_{name}_us")
            return number(None if figure is None else figure.median / US_PER_MS)

        header = histogram.replace("_", "\n")
        return Shown(Column(f"{header}\n{name.replace('_', '.')}", give_way), text)

    return itertools.starmap(shown, statistics.items())


def _mean_and_sd(runs: Sequence[Run]) -> tuple[float | None, float | None]:
    """Mean and standard deviation of calls per second over the rounds of a case."""
    found = [value for run in runs if (value := FORMULAS["calls_per_s"](run.counters)) is not None]
    if not found:
        return None, None
    return fmean(found), stdev(found) if len(found) > 1 else None


def _runtime(case: Case) -> str:
    is_usual = case.implementation != IO_URING
    return case.runtime if is_usual else f"{case.runtime}/{case.implementation}"


def _callers(case: Case) -> str:
    asked = RrParameters.of(case)
    return f"{asked.processes} × {asked.callers_per_process}"


def _connections(case: Case) -> str:
    if RrParameters.of(case).connections == "many":
        return f"{case.connections:,} connections"
    depth = RrParameters.of(case).depth
    return str(RrParameters.of(case).connections) + (f" (depth {depth})" if depth else "")


def _sends(case: Case) -> str:
    sends = RrParameters.of(case).sends_per_request
    return "1 send" if sends == 1 else f"{sends} sends"


def _distinct(cases: Sequence[Case]) -> tuple[str, ...]:
    return tuple(name for name, say in _ASPECTS.items() if len({say(case) for case in cases}) > 1)
