"""The timeline of slices: when was the host disturbed?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median

import altair as alt

from tinygram_bench.model.result import Result
from tinygram_bench.report.charts.chart import (
    COLOURS,
    GREY,
    Chart,
    Drawing,
    Row,
    Scale,
    layered,
    tooltips,
)
from tinygram_bench.report.charts.ways import Field, fields_of, named

FIGURES = (
    *("latency_p50_us", "round_trip_p50_us", "call_p50_us", "queueing_p50_us"),
    *("throughput_per_s", "calls_per_s"),
)
"""The first of these that the slices have is drawn."""
DISTURBED = 1.5
"""Times its usual value: where half of the ways are further off at once, it is the host."""
MAX_POINTS = 400
COLUMNS = {
    "position": "slice",
    "round": "round",
    "median": "half of the ways, × their own median",
    "low": "lowest way",
    "high": "highest way",
    "is_disturbed": "disturbed",
}
_TEXT = (
    "Each point is a cycle, in which each way had a slice: {figure} there, divided by the way's "
    "own median, for half of the ways; the band has all of them. The ways take turns, so what "
    "moves all of them at once is the host: a large point marks where half of them were off by "
    f"over {DISTURBED:g} times. Lines separate the rounds."
)


def timeline_charts(result: Result) -> Iterator[Chart]:
    """A chart for each load whose cases took turns in slices."""
    for at, field in enumerate(fields_of(result)):
        rows, figure = _rows(result, field)
        if rows:
            text = _TEXT.format(figure=_said(figure))
            name, title = named("timeline", at, field), "Timeline of slices"
            draw = partial(_draw, rows=rows)
            yield Chart(name, title, text, COLUMNS, rows, draw, where=field.title)


def _rows(result: Result, field: Field) -> tuple[tuple[Row, ...], str]:
    slices: dict[str, dict[int, Sequence[float | None]]]
    slices = {each.case.case_id: {} for each in field.entrants}
    figure = ""
    for name in FIGURES:
        for run in result.runs:
            if run.case_id in slices and run.failure is None and any(run.slices.get(name, ())):
                slices[run.case_id][run.round] = run.slices[name]
        if any(slices.values()):
            figure = name
            break
    cycles = _relative(slices)
    size = -(-len(cycles) // MAX_POINTS)
    rows: list[Row] = []
    for at in range(0, len(cycles), size or 1):
        block = [value for _, values in cycles[at : at + size] for value in values]
        if block:
            rows.append(_row(at, cycles[at][0], block))
    return tuple(rows), figure


def _row(at: int, round: int, block: Sequence[float]) -> Row:
    middle = median(block)
    is_disturbed = not 1 / DISTURBED <= middle <= DISTURBED
    return {
        "position": at + 1,
        "round": round + 1,
        "median": middle,
        "low": min(block),
        "high": max(block),
        "is_disturbed": "yes" if is_disturbed else "no",
    }


def _relative(
    slices: dict[str, dict[int, Sequence[float | None]]],
) -> list[tuple[int, list[float]]]:
    """For each cycle of each round the values of the ways, each divided by the way's median."""
    usual = {}
    for case_id, rounds in slices.items():
        known = [value for values in rounds.values() for value in values if value]
        if known:
            usual[case_id] = median(known)
    cycles = []
    for round in sorted({number for rounds in slices.values() for number in rounds}):
        longest = max(len(rounds.get(round, ())) for rounds in slices.values())
        for at in range(longest):
            values = [
                value / usual[case_id]
                for case_id, rounds in slices.items()
                if at < len(found := rounds.get(round, ())) and (value := found[at])
            ]
            cycles.append((round, values))
    return cycles


def _said(figure: str) -> str:
    return {
        "latency_p50_us": "the median latency",
        "round_trip_p50_us": "the median round trip",
        "call_p50_us": "the median call time",
        "queueing_p50_us": "the median queueing time",
        "throughput_per_s": "the throughput",
        "calls_per_s": "the calls per second",
    }[figure]


def _draw(data: alt.InlineData, rows: tuple[Row, ...]) -> Drawing:
    base = alt.Chart(data, height=220).encode(
        x=alt.X(
            "position:Q",
            title="slice, in the order of time",
            scale=alt.Scale(nice=False),
            axis=alt.Axis(grid=False, tickCount=6),
        )
    )
    y = Scale.logarithmic("× the usual", rows, "low", "high", format="~g")
    first = base.transform_joinaggregate(first="min(position)", groupby=["round"]).transform_filter(
        "datum.position == datum.first && datum.round > 1"
    )
    return layered(
        first.mark_rule(strokeDash=[2, 3], color=GREY, opacity=0.6),
        base.mark_area(opacity=0.25, color=COLOURS[0]).encode(y=y.y("low"), y2="high:Q"),
        base.mark_line(strokeWidth=1.5, color=COLOURS[0]).encode(y=y.y("median")),
        base.mark_circle(opacity=1).encode(
            y=y.y("median"),
            color=alt.condition(
                "datum.is_disturbed == 'yes'", alt.value(COLOURS[1]), alt.value(COLOURS[0])
            ),
            size=alt.condition("datum.is_disturbed == 'yes'", alt.value(80), alt.value(12)),
            tooltip=tooltips(COLUMNS, "is_disturbed"),
        ),
    )
