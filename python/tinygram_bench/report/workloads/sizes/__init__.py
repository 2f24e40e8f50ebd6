"""The report of `sizes`: each cell's time in parts, the model, and a local round trip's cost.

It also tells whether the model holds, and what it predicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Figure, Result, Summary, Warning
from tinygram_bench.report.document import (
    Document,
    Note,
    Section,
    failure_note,
    unavailable_note,
    warnings_as_notes,
)
from tinygram_bench.report.numbers import (
    UNKNOWN,
    interval,
    median,
    median_of,
    number,
    size,
    span,
)
from tinygram_bench.report.prose import confidence, first_of
from tinygram_bench.report.published.sizes import published_table
from tinygram_bench.report.surroundings import link_tables, surroundings_of
from tinygram_bench.report.table import Column, Row, Table
from tinygram_bench.report.why import reasons_of
from tinygram_bench.report.workloads.sizes.names import (
    brief_ways,
    cell_name,
    cell_names,
    way_name,
)
from tinygram_bench.report.workloads.sizes.ways import most_different, on_ways
from tinygram_bench.statistics.sizes_fits import Fit, fits_of, local_parts
from tinygram_bench.statistics.verdicts.doubts import MIN_PAIRED_ROUNDS
from tinygram_bench.statistics.workloads.loads import alternates
from tinygram_bench.statistics.workloads.sizes import TIME

TOLERANCE_PERCENT = 10.0
"""The model holds for a cell that is no further from it than this."""
MAX_NAMED = 4
_ANSWERED = {TIME, "part_p50_us"}
_MEDIANS = (
    (Column("connect\np50", 4), "connect_p50_us"),
    (Column("setup\np50", 4), "setup_p50_us"),
    (Column("transfer\np50", 3), "transfer_p50_us"),
    (Column("first\ntrip\np50", 6), "first_trip_p50_us"),
    (Column("next\ntrips\np50", 6), "next_trip_p50_us"),
    (Column("total\np50"), "total_p50_us"),
)
_VERY_FIRST = Column("very\nfirst", 5)
_CASES_FIRST = Column("case's\nfirst", 5)
"""For samples that alternate: those of other cases came before this one in its process."""
_MORE_MEDIANS = (
    (Column("total\np99", 5), "total_p99_us"),
    (_VERY_FIRST, "first_sample_us"),
    (Column("MB/s of\ntransfer", 1), "mb_per_s"),
    (Column("MB/s of\ntotal", 2), "total_mb_per_s"),
    (Column("off the\nmodel %", 1), "model_residual_percent"),
)
PART_LABELS = {
    "system calls": "4 system calls",
    "stack": "+ stack, both ways",
    "same core": "+ another thread, same core",
    "other core": "+ another thread, other core",
}


def sizes_document(result: Result, published: bool) -> Document:
    fits = fits_of(result.plan, result.runs)
    found = (_model_table(fits), _prediction_table(result, fits), _local_table(result))
    tables = (
        *link_tables(result),
        *(_cell_table(result, fit) for fit in fits),
        *(table for table in found if table.rows),
        *((published_table(),) if published else ()),
    )
    answer = _closing_sentences(result, fits, local_parts(result.plan, result.runs))
    return Document(
        answer,
        (Section(tables=tables),),
        _notes_of(result),
        (),
        surroundings_of(result),
        reasons_of(result, most_different(result), cell_names(result)),
    )


def _closing_sentences(
    result: Result, fits: Sequence[Fit], parts: Mapping[str, Figure | None]
) -> tuple[str, ...]:
    """Two sentences for each way, then how the ways compare, then the local parts."""
    said = [sentence for fit in fits for sentence in _on_fit(fit)]
    said += on_ways(result)
    said += _on_parts(parts)
    return tuple(said) or ("Nothing was measured.",)


def _notes_of(result: Result) -> tuple[Note, ...]:
    """Notes on failures, absences and warnings.

    Two modes are told only of figures on which the answer rests; for the probe's CPU time, the
    first cell's share stands for all.
    """
    named = cell_names(result)
    notes = [
        unavailable_note(named(absent.case), absent.reason) for absent in result.plan.unavailable
    ]
    cases = {case.case_id: case for case in result.plan.cases}
    for run in result.runs:
        if run.failure is not None:
            notes.append(failure_note(named(cases[run.case_id]), f"failed: {run.failure}"))
    probed: Warning | None = None
    for summary in result.summaries:
        for warning in summary.warnings:
            if warning.code == "two_modes" and not _ANSWERED.intersection(warning.figures):
                continue
            told = warning
            if warning.code == "probed":
                told = probed = probed or warning
            notes += warnings_as_notes(named(summary.case), [told])
    return tuple(notes)


def _on_fit(fit: Fit) -> Iterator[str]:
    name = way_name(fit.cases[0])
    if not fit.models:
        yield (
            f"{name}: no model: it takes two counts of --round-trips, two --sizes, and a round in "
            "which every cell succeeded"
        )
        return
    figures = fit.figures()
    setup, latency = figures["model_setup_us"], figures["model_latency_us"]
    rate = figures["model_mb_per_s"]
    assert setup is not None
    assert latency is not None
    law = f"time = {number(setup.median)} µs + trips × ({number(latency.median)} µs"
    if rate is None:
        yield (
            f"{name}: {law}): no bandwidth, since larger ones did not take longer in every round: "
            f"these sizes are too small to show it, or the host too noisy{_sure(fit)}."
        )
    else:
        yield f"{name}: {law} + bytes ÷ {number(rate.median)} MB/s){_sizes(figures)}{_sure(fit)}."
    yield f"{name}: {_whether_it_holds(fit)}."


def _sizes(figures: Mapping[str, Figure | None]) -> str:
    half, most = figures["model_n_half_bytes"], figures["model_n90_bytes"]
    if half is None or most is None:
        return ""
    return (
        f"; half of the bandwidth is reached at {size(half.median)}, nine tenths at "
        f"{size(most.median)}"
    )


def _sure(fit: Fit) -> str:
    rounds = len(fit.models)
    if rounds == 1:
        return " (a single round: nothing tells how sure)"
    return f", at {confidence(rounds)}"


def _whether_it_holds(fit: Fit) -> str:
    rounds = len(fit.models)
    if rounds < MIN_PAIRED_ROUNDS:
        have = "1 round has" if rounds == 1 else f"{rounds} rounds have"
        return (
            f"whether the model holds cannot be said: {have} every cell, and {MIN_PAIRED_ROUNDS} "
            "are needed"
        )
    found = [(case, fit.residual_percent(case)) for case in fit.cases]
    residuals = [(case, residual) for case, residual in found if residual is not None]
    residuals.sort(key=lambda entry: -abs(entry[1].median))
    far = [entry for entry in residuals if _is_far(entry[1])]
    unsure = [entry for entry in residuals if not _is_far(entry[1]) and not _is_near(entry[1])]
    within = f"within {TOLERANCE_PERCENT:g} %"
    if far:
        return (
            f"the model does not hold: {len(far)} of {len(residuals)} cells are not {within} of "
            f"it: {_described(far)}"
        )
    if unsure:
        return (
            f"the model is not shown to fail, but of {len(unsure)} of {len(residuals)} cells it "
            f"cannot be said that they are {within} of it: {_described(unsure)}"
        )
    return (
        f"the model holds: all {len(residuals)} cells are {within} of it, the furthest: "
        f"{_described(residuals[:1])}"
    )


def _is_far(residual: Figure) -> bool:
    return residual.low > TOLERANCE_PERCENT or residual.high < -TOLERANCE_PERCENT


def _is_near(residual: Figure) -> bool:
    return residual.low >= -TOLERANCE_PERCENT and residual.high <= TOLERANCE_PERCENT


def _described(residuals: Sequence[tuple[Case, Figure]]) -> str:
    """`1 MB × 2 took 23 % longer (20 to 27)`, the furthest first."""
    told = [
        f"{cell_name(case)} took {abs(residual.median):.1f} % "
        f"{'longer' if residual.median >= 0 else 'shorter'} "
        f"({residual.low:+.1f} to {residual.high:+.1f})"
        for case, residual in residuals
    ]
    return first_of(told, MAX_NAMED)


def _on_parts(parts: Mapping[str, Figure | None]) -> list[str]:
    calls, stack = parts.get("system calls"), parts.get("stack")
    if calls is None or stack is None:
        return []
    told = [
        f"four system calls {number(calls.median)} µs, the stack both ways "
        f"{number(stack.median)} µs"
    ]
    for name, where in (("same core", "on the same core"), ("other core", "on another core")):
        waking = parts.get(name)
        if waking is not None:
            told.append(f"another thread {where} {number(waking.median)} µs more")
    return [f"A round trip of 1 B on this host: {'; '.join(told)}."]


def _cell_table(result: Result, fit: Fit) -> Table:
    summaries = {summary.case.case_id: summary for summary in result.summaries}
    columns = [Column("size ×\nround trips"), *(column for column, _ in _MEDIANS)]
    columns += [Column("low–high", 2), *(column for column, _ in _MORE_MEDIANS)]
    if any(map(alternates, fit.cases)):
        columns = [_CASES_FIRST if each is _VERY_FIRST else each for each in columns]
    rows = tuple(
        _cell_row(cell_name(case), summaries.get(case.case_id), len(columns)) for case in fit.cases
    )
    title = f"Time of a sample (µs): {way_name(fit.cases[0])}"
    return Table(title, tuple(columns), rows, ("off the model: + took longer than it says",))


def _cell_row(label: str, summary: Summary | None, width: int) -> Row:
    if summary is None or not summary.rounds:
        return Row((label, *[UNKNOWN] * (width - 1)), "absent")
    figures = summary.figures
    return Row(
        (
            label,
            *(median_of(summary, name) for _, name in _MEDIANS),
            interval(figures.get("total_p50_us")),
            *(median_of(summary, name) for _, name in _MORE_MEDIANS),
        )
    )


def _model_table(fits: Sequence[Fit]) -> Table:
    columns = (
        Column("way"),
        Column("setup\nµs"),
        Column("low–high", 3),
        Column("latency\nµs"),
        Column("low–high", 2),
        Column("MB/s"),
        Column("low–high", 1),
        Column("half the\nMB/s at"),
        Column("low–high", 5),
        Column("90 % of\nMB/s at", 4),
    )
    rows = []
    for fit, name in zip(fits, brief_ways([fit.cases[0] for fit in fits]), strict=True):
        figures = fit.figures()
        cells = [name]
        for figure in ("model_setup_us", "model_latency_us", "model_mb_per_s"):
            cells += [median(figures[figure]), span(figures[figure])]
        half, most = figures["model_n_half_bytes"], figures["model_n90_bytes"]
        cells += [_size(half), "–".join(map(size, (half.low, half.high))) if half else UNKNOWN]
        rows.append(Row((*cells, _size(most)), "plain" if fit.models else "absent"))
    return Table(
        "The model: time = setup + trips × (latency + bytes ÷ bandwidth)", columns, tuple(rows)
    )


def _prediction_table(result: Result, fits: Sequence[Fit]) -> Table:
    """The model's predictions for the sizes whose times were asked for."""
    columns = (Column("size ×\nround trips"), Column("way"), Column("µs"), Column("low–high"))
    rows = [
        Row((f"{size(wanted)} × {trips}", name, median(found), span(found)))
        for fit, name in zip(fits, brief_ways([fit.cases[0] for fit in fits]), strict=True)
        for wanted in _predicted_bytes(result)
        for trips in _round_trips(fit)
        for found in [fit.predicted_us(wanted, trips)]
    ]
    largest = max((case.message_bytes.max for fit in fits for case in fit.cases), default=0)
    beyond = [size(wanted) for wanted in _predicted_bytes(result) if wanted > largest]
    notes = (f"beyond what was measured: {', '.join(beyond)}",) if beyond else ()
    return Table("What the model predicts, connect and setup included", columns, tuple(rows), notes)


def _local_table(result: Result) -> Table:
    """The parts of a round trip on this host."""
    parts = local_parts(result.plan, result.runs)
    rows = tuple(
        Row((PART_LABELS[name], median(found), span(found)))
        for name, found in parts.items()
        if found is not None
    )
    columns = (Column("part"), Column("µs"), Column("low–high"))
    return Table("A round trip of 1 B on this host, part by part", columns, rows)


def _predicted_bytes(result: Result) -> list[int]:
    asked = {SizesParameters.of(case).predicted_bytes for case in result.plan.cases}
    return list(dict.fromkeys(size for sizes in sorted(asked) for size in sizes))


def _round_trips(fit: Fit) -> list[int]:
    """The numbers of round trips of the fit's cells, without 0."""
    counts = {SizesParameters.of(case).round_trips for case in fit.cases}
    return sorted(count for count in counts if count)


def _size(figure: Figure | None) -> str:
    return UNKNOWN if figure is None else size(figure.median)
