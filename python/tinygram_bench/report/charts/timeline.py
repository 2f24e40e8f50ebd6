"""The timeline of slices: when was the host disturbed?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
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
from tinygram_bench.report.charts.ways import Entrant, Field, fields_of
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.workloads.loads import turns_of

Slices = dict[str, dict[int, Sequence[float | None]]]
"""case_id → round → the figure in each slice."""

FIGURES = {
    "latency_p50_us": "the median latency",
    "round_trip_p50_us": "the median round trip",
    "call_p50_us": "the median call time",
    "queueing_p50_us": "the median queueing time",
    "throughput_per_s": "the time that a message took",
    "calls_per_s": "the time that a call took",
}
"""The first of these that the slices have is drawn; of a rate its inverse: more is slower."""
DISTURBED = 1.5
"""Times as slow as usual: where half of the ways are slower at once, it is the host."""
MAX_POINTS = 400
COLUMNS = {
    "position": "slice",
    "round": "round",
    "median": "half of the ways, × their usual",
    "low": "fastest way",
    "high": "slowest way",
    "is_disturbed": "disturbed",
}
_TEXT = (
    "Each point is a cycle, in which each way had a slice: {figure} there, beside the way's own "
    "median, for half of the ways; the band has all of them. The ways take turns, so what slows "
    "all of them at once is the host: a large point marks where half of them were over "
    f"{DISTURBED:g} times as slow as usual. Upright lines separate the rounds."
)


def timeline_charts(result: Result) -> Iterator[Chart]:
    """A chart for each group of two cases or more that took turns in slices."""
    groups = [group for field in fields_of(result) for group in _groups(field)]
    for at, (where, entrants) in enumerate(groups):
        rows, figure = _rows(result, entrants)
        if rows:
            name = f"timeline-{at + 1}" if len(groups) > 1 else "timeline"
            text = _TEXT.format(figure=FIGURES[figure])
            draw = partial(_draw, rows=rows)
            yield Chart(name, "Timeline of slices", text, COLUMNS, rows, draw, where=where)


def _groups(field: Field) -> Iterator[tuple[str, list[Entrant]]]:
    """What the entrants that take turns have in common, and these."""
    groups: dict[Hashable, list[Entrant]] = {}
    for entrant in field.entrants:
        groups.setdefault(turns_of(entrant.case), []).append(entrant)
    for entrants in groups.values():
        if len(entrants) > 1:
            first = entrants[0]
            load = first.label.removesuffix(first.case.strategy).removesuffix(", ")
            yield load if len(groups) > 1 else field.title, entrants


def _rows(result: Result, entrants: Sequence[Entrant]) -> tuple[tuple[Row, ...], str]:
    case_ids = {each.case.case_id for each in entrants}
    runs = [run for run in result.runs if run.case_id in case_ids and run.failure is None]
    for figure in FIGURES:
        slices: Slices = {}
        for run in runs:
            if any(run.slices.get(figure, ())):
                slices.setdefault(run.case_id, {})[run.round] = run.slices[figure]
        if slices:
            return tuple(_blocks(_relative(slices, is_rate=is_higher_better(figure)))), figure
    return (), ""


def _blocks(cycles: Sequence[tuple[int, list[float]]]) -> Iterator[Row]:
    """A row for each cycle or, where there are too many, for each block of them."""
    size = max(1, -(-len(cycles) // MAX_POINTS))
    for at in range(0, len(cycles), size):
        block = [value for _, values in cycles[at : at + size] for value in values]
        if block:
            middle = median(block)
            yield {
                "position": at + 1,
                "round": cycles[at][0] + 1,
                "median": middle,
                "low": min(block),
                "high": max(block),
                "is_disturbed": "yes" if middle > DISTURBED else "no",
            }


def _relative(slices: Slices, *, is_rate: bool) -> list[tuple[int, list[float]]]:
    """For each cycle of each round, how many times as slow as usual each way was."""
    usual = {}
    for case_id, rounds in slices.items():
        known = [value for values in rounds.values() for value in values if value]
        usual[case_id] = median(known)
    cycles = []
    for round in sorted({number for rounds in slices.values() for number in rounds}):
        longest = max(len(rounds.get(round, ())) for rounds in slices.values())
        for at in range(longest):
            values = [
                usual[case_id] / value if is_rate else value / usual[case_id]
                for case_id, rounds in slices.items()
                if at < len(found := rounds.get(round, ())) and (value := found[at])
            ]
            cycles.append((round, values))
    return cycles


def _draw(data: alt.InlineData, rows: tuple[Row, ...]) -> Drawing:
    base = alt.Chart(data, height=220).encode(
        x=alt.X(
            "position:Q",
            title="slice, in the order of time",
            scale=alt.Scale(nice=False),
            axis=alt.Axis(grid=False, tickCount=6),
        )
    )
    y = Scale.logarithmic("× as slow as usual", rows, "low", "high", format="~g")
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
