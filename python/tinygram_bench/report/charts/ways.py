"""The cases that are compared in a result: their labels in the report, colours and dashes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from tinygram_bench.model.result import Case, Result, Summary
from tinygram_bench.report.charts.chart import CLOCK_US, COLOURS, DASHES, GREY, Row, Series
from tinygram_bench.report.loads.tables import rows_by_load
from tinygram_bench.report.numbers import CLOCK
from tinygram_bench.report.prose import load_names, pace
from tinygram_bench.report.workloads.rr import labels_of
from tinygram_bench.statistics.figures.words import rounded_up
from tinygram_bench.statistics.one_way import as_known
from tinygram_bench.statistics.verdicts.doubts import barring
from tinygram_bench.statistics.workloads.loads import Load, is_alone, server_of


class Entrant(Struct, frozen=True):
    """A case with figures. `is_best`: it won its contest; `is_limit`: it does not compete."""

    label: str
    case: Case
    summary: Summary
    is_best: bool = False
    is_limit: bool = False


class Field(Struct, frozen=True):
    """The cases that are drawn side by side; `title` is empty where a result has only these."""

    title: str
    entrants: tuple[Entrant, ...]


def fields_of(result: Result) -> tuple[Field, ...]:
    """The cases of each load; for `rr` those of each rate, for `sizes` none.

    All of them have figures.
    """
    workloads = {case.workload for case in result.plan.cases}
    if workloads == {"rr"}:
        labels = labels_of(result, but_for=("rate",))
        by_rate: dict[float | None, list[Entrant]] = {}
        for each in result.summaries:
            if each.rounds:
                entrant = Entrant(labels[each.case.case_id], each.case, each)
                by_rate.setdefault(each.case.rate_per_s, []).append(entrant)
        fields = (
            Field(pace(Load.of(entrants[0].case)) if len(by_rate) > 1 else "", tuple(entrants))
            for entrants in by_rate.values()
        )
        return _with_figures(fields)
    if not workloads or workloads == {"sizes"}:
        return ()
    names = load_names(result)
    return _with_figures(
        Field(
            names[load] if len(names) > 1 else "",
            tuple(
                Entrant(
                    row.label,
                    row.case,
                    as_known(row.summary),
                    row.kind == "best",
                    row.kind == "limit",
                )
                for row in rows
                if row.summary is not None and row.absence is None
            ),
        )
        for load, rows in rows_by_load(result).items()
    )


def _with_figures(fields: Iterable[Field]) -> tuple[Field, ...]:
    return tuple(each for each in fields if each.entrants)


def series_of(result: Result) -> Mapping[str, Series]:
    """Label → its series, the same in every chart: a colour for each strategy, or server.

    Ways of one colour have different dashes; those after the sixth share the last dash.
    """
    colours: dict[str, str] = {}
    used: dict[str, int] = {}
    series: dict[str, Series] = {}
    for entrant in (each for found in fields_of(result) for each in found.entrants):
        if entrant.label in series:
            continue
        key = server_of(entrant.case) or entrant.case.strategy
        colour = GREY if entrant.is_limit else COLOURS[len(colours) % len(COLOURS)]
        colour = colours.setdefault(key, colour) if not entrant.is_limit else GREY
        dash = DASHES[min(used.get(colour, 0), len(DASHES) - 1)]
        used[colour] = used.get(colour, 0) + 1
        series[entrant.label] = Series(entrant.label, colour, dash)
    return series


def series_in_turn(labels: Sequence[str]) -> tuple[Series, ...]:
    """A series for each label: all colours in turn, and then again with other dashes."""
    return tuple(
        Series(
            label,
            COLOURS[at % len(COLOURS)],
            DASHES[min(at // len(COLOURS), len(DASHES) - 1)],
        )
        for at, label in enumerate(labels)
    )


def series_in(field: Field, series: Mapping[str, Series]) -> tuple[Series, ...]:
    return tuple(series[each.label] for each in field.entrants)


def barred(summary: Summary, figure: str) -> str:
    """`yes` where a warning of the case bars the figure from any verdict, or `no`."""
    took_turns = not is_alone(summary.case)
    return "no" if barring(figure, summary, took_turns=took_turns) is None else "yes"


def told(text: str, rows: Sequence[Row], place: str = "") -> str:
    """The text of a chart; if it has question marks, also their meaning and their `place`.

    Where two clocks timed what it shows, also what these may be wrong by.
    """
    text += clocks_told(float(row.get(CLOCK_US) or 0) for row in rows)
    if all(row["is_barred"] == "no" for row in rows):
        return text
    meaning = "A question mark: a warning bars this value from any verdict, and the notes say why."
    return f"{text} {meaning}{place}"


def clocks_told(bounds_us: Iterable[float]) -> str:
    """A sentence to append on the largest of these bounds; empty where one clock timed all."""
    most_us = max(bounds_us, default=0.0)
    if not most_us:
        return ""
    return (
        f" The clocks of the two hosts may be wrong by up to {rounded_up(most_us)} µs in each of "
        "these times."
    )


def clock_of(bound_us: float | None) -> Row:
    """A row's field for what two clocks may be wrong by; none where one clock timed the figure."""
    return {CLOCK_US: bound_us} if bound_us else {}


def with_clocks(
    columns: Mapping[str, str], rows: Iterable[Row]
) -> tuple[Mapping[str, str], tuple[Row, ...]]:
    """The columns and rows, with a column for these fields where any row has one."""
    rows = tuple(rows)
    if not any(CLOCK_US in row for row in rows):
        return columns, rows
    return {**columns, CLOCK_US: f"{CLOCK}, µs"}, tuple({CLOCK_US: None, **row} for row in rows)


def named(name: str, at: int, field: Field) -> str:
    """A chart's name: `throughput`, or where there are several fields `throughput-2`."""
    return f"{name}-{at + 1}" if field.title else name
