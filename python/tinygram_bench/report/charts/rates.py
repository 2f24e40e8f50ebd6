"""Latency, or the time of calls, against rate: what each way sustained, and a sweep's limit.

On the chart of the figure that a sweep limits, what a way sustains is what the sweep's answer says.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import takewhile
from math import inf

import altair as alt
from msgspec.structs import replace

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Result, Run
from tinygram_bench.report.charts.chart import (
    BARRED,
    GREY,
    Chart,
    Data,
    Drawing,
    Row,
    Scale,
    Series,
    around,
    layered,
    questioned,
    series_colour,
    series_dash,
    tooltips,
)
from tinygram_bench.report.charts.ways import (
    Entrant,
    barred,
    clock_of,
    fields_of,
    series_of,
    told,
    with_clocks,
)
from tinygram_bench.report.prose import names_without_rate, without_rate
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.one_way import bound_on
from tinygram_bench.statistics.recurring import FELL_BEHIND, recurs
from tinygram_bench.statistics.sweeps.curves import curves_of
from tinygram_bench.statistics.sweeps.limits import met_of
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.loads import Load, way_of

_SHOWN = ("p50", "p99")
_ON_Y = ("low", "median", "high", "limit_us")


def columns_of(unit: str) -> dict[str, str]:
    """The columns of a chart. `unit`: what is due, such as messages or calls."""
    return {
        "way": "way",
        "rate_per_s": f"{unit} per second",
        "median": "µs",
        "low": "low",
        "high": "high",
        "kept_up": "kept up",
        **BARRED,
    }


def rate_charts(result: Result) -> Iterator[Chart]:
    """Charts of each load with two rates or more: for the median, p99 and a sweep's limit."""
    sweep = result.plan.sweep
    limit = None if sweep is None else sweep.limit
    names, series, failed_at = names_without_rate(result), series_of(result), _failed_at(result)
    behind, within = _behind_in(result.runs), _last_within_limit(result)
    loads = _by_load(result)
    times = dict.fromkeys(WORKLOADS[load.workload].time for load in loads)
    figures = [f"{time}_{percentile}_us" for time in times for percentile in _SHOWN]
    for figure in dict.fromkeys(figures if limit is None else (limit.figure, *figures)):
        said, _, what = in_words(figure).partition(" ")
        limit_us = limit.below_us if limit is not None and limit.figure == figure else None
        for at, (load, ways) in enumerate(loads.items()):
            ringed = within if limit_us is not None else _last_kept_up(ways, failed_at, behind)
            rows = tuple(row for way in ways for row in _rows(way, figure, behind, ringed))
            if len({row["rate_per_s"] for row in rows}) > 1:
                shown = dict.fromkeys(str(row["way"]) for row in rows)
                time = WORKLOADS[load.workload].time.replace("_", "-")
                name = f"{time}-against-rate-{said.replace('.', '-')}" + (
                    f"-{at + 1}" if len(loads) > 1 else ""
                )
                chosen = tuple(series[label] for label in shown)
                columns = columns_of(WORKLOADS[load.workload].unit)
                yield _chart(name, names[load], (said, what), columns, rows, chosen, limit_us)


def _by_load(result: Result) -> dict[Load, list[list[Entrant]]]:
    """Load without its rate → each of its ways at all of its rates, where these are two or more."""
    found: dict[Load, dict[str, list[Entrant]]] = {}
    rates: dict[Load, set[float]] = {}
    for entrant in (each for field in fields_of(result) for each in field.entrants):
        rate_per_s = entrant.case.rate_per_s
        if rate_per_s is not None:
            load = without_rate(Load.of(entrant.case))
            found.setdefault(load, {}).setdefault(entrant.label, []).append(entrant)
            rates.setdefault(load, set()).add(rate_per_s)
    return {load: [*ways.values()] for load, ways in found.items() if len(rates[load]) > 1}


def _failed_at(result: Result) -> dict[Hashable, float]:
    """Way → the lowest rate at which it failed in all rounds."""
    found: dict[Hashable, float] = {}
    for summary in result.summaries:
        rate_per_s = summary.case.rate_per_s
        if rate_per_s is not None and summary.failed_rounds and not summary.rounds:
            key = _way(summary.case)
            found[key] = min(rate_per_s, found.get(key, inf))
    return found


def _way(case: Case) -> Hashable:
    """A key that is equal for the cases of a way that differ in their rate alone."""
    asked = case.parameters
    calling = replace(asked, slice_ns=None) if isinstance(asked, RrParameters) else None
    return without_rate(Load.of(case)), way_of(case), calling


def _behind_in(runs: Iterable[Run]) -> frozenset[str]:
    """The ids of cases that fell behind their schedule, as in a sweep's table."""
    runs_of: dict[str, list[Run]] = {}
    for run in runs:
        runs_of.setdefault(run.case_id, []).append(run)
    return frozenset(case_id for case_id, of in runs_of.items() if recurs(FELL_BEHIND, of))


def _last_kept_up(
    ways: Iterable[list[Entrant]], failed_at: dict[Hashable, float], behind: frozenset[str]
) -> frozenset[str]:
    """The id of each way's case at the highest rate that it kept up with, as with all lower ones.

    `failed_at`: from which rate on a way counts as failing, whatever it did there.
    """
    kept_up = (_kept_up(way, failed_at.get(_way(way[0].case), inf), behind) for way in ways)
    return frozenset(case_id for of_way in kept_up for case_id in of_way[-1:])


def _kept_up(way: list[Entrant], failed_from: float, behind: frozenset[str]) -> list[str]:
    """The ids of a way's cases, the lowest rate first, up to the first with which it did not."""
    held = takewhile(
        lambda each: each.case_id not in behind and (each.rate_per_s or 0) < failed_from,
        (each.case for each in _by_rate(way)),
    )
    return [case.case_id for case in held]


def _last_within_limit(result: Result) -> frozenset[str]:
    """The id of each way's case at the highest rate at which it keeps to the sweep's limit."""
    sweep = result.plan.sweep
    if sweep is None or sweep.limit is None:
        return frozenset()
    swept = curves_of(result.plan, result.runs, result.summaries)
    return frozenset(
        case.case_id
        for curve in swept.curves
        for up_to in [met_of(swept.values, curve, sweep.limit).up_to]
        for value, case in zip(swept.values, curve.cases, strict=True)
        if value == up_to
    )


def _by_rate(way: list[Entrant]) -> list[Entrant]:
    return sorted(way, key=lambda each: each.case.rate_per_s or 0)


def _rows(
    way: list[Entrant], figure: str, behind: frozenset[str], ringed: frozenset[str]
) -> Iterator[Row]:
    kept_up = dict.fromkeys(behind, "no") | dict.fromkeys(ringed, "up to here")
    for each in _by_rate(way):
        found = each.summary.figures.get(figure)
        if found is not None:
            yield {
                "way": each.label,
                "rate_per_s": each.case.rate_per_s,
                **around(found),
                "kept_up": kept_up.get(each.case.case_id, "yes"),
                "is_barred": barred(each.summary, figure),
                **clock_of(bound_on(each.summary.figures, figure)),
            }


def _chart(
    name: str,
    where: str,
    said: tuple[str, str],
    columns: Mapping[str, str],
    rows: tuple[Row, ...],
    series: tuple[Series, ...],
    limit_us: float | None,
) -> Chart:
    percentile, what = said
    columns, rows = with_clocks(columns, rows)
    if limit_us is not None:
        rows = tuple({**row, "limit_us": limit_us} for row in rows)
        columns = {**columns, "limit_us": "limit"}

    def draw(data: Data) -> Drawing:
        y = Scale.logarithmic("µs", rows, *(name for name in _ON_Y if name in columns))
        base = alt.Chart(data, height=340).encode(
            x=Scale.logarithmic(columns["rate_per_s"], rows, "rate_per_s").x("rate_per_s"),
            y=y.y("median"),
            color=series_colour(series),
        )
        marked = base.transform_filter("datum.kept_up == 'up to here'")
        behind = base.transform_filter("datum.kept_up == 'no'")
        line = alt.Chart(data).mark_rule(strokeWidth=1.5, strokeDash=[6, 4], color=GREY)
        return layered(
            *([] if limit_us is None else [line.encode(y=y.y("min(limit_us)"))]),
            base.mark_line(strokeWidth=2).encode(strokeDash=series_dash(series)),
            base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(y=y.y("low"), y2="high:Q"),
            base.mark_circle(size=42, opacity=1).encode(
                tooltip=tooltips(columns, "way", "kept_up", *BARRED)
            ),
            marked.mark_point(size=190, strokeWidth=2, filled=False),
            behind.mark_point(size=150, strokeWidth=2, shape="cross", filled=False, angle=45),
            questioned(base, dy=-17),
        )

    text = (
        f"The {percentile} of the {what} at each rate, with its interval. A cross marks a rate at "
        "which a way fell behind its schedule in half of the rounds or more. "
    )
    if limit_us is None:
        text += (
            "A ring marks the highest rate that it kept up with, as it did with all lower ones. A "
            "rate at which a way failed in all rounds has no point, and no higher one has a ring."
        )
    else:
        text += (
            f"The dashed line is the limit, {limit_us:,.6g} µs. A ring marks the highest rate at "
            "which a way kept to it, as it did at all lower ones."
        )
    title = f"{what.capitalize()} against rate: {percentile}"
    text = told(text, rows)
    return Chart(name, title, text, columns, rows, draw, series, where=where)
