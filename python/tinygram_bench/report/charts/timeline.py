"""The timeline of slices, or of alternating samples, which shows when the host was disturbed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from statistics import median

import altair as alt
from msgspec import Struct

from tinygram_bench.model.result import Case, Result, Run
from tinygram_bench.report.charts.chart import (
    COLOURS,
    GREY,
    Chart,
    Data,
    Drawing,
    Row,
    Scale,
    layered,
    tooltips,
)
from tinygram_bench.report.charts.ways import (
    Entrant,
    Field,
    clocks_told,
    fields_of,
)
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.figures.samples import good_runs
from tinygram_bench.statistics.one_way import bound_us, is_of_two_clocks
from tinygram_bench.statistics.workloads.loads import alternates, turns_of, turns_taken
from tinygram_bench.statistics.workloads.sizes import TIME, is_exchange

Slices = dict[str, dict[int, Sequence[float | None]]]
"""case_id → round → the figure in each slice."""

FIGURES = {
    "latency_p50_us": "the median latency",
    "round_trip_p50_us": "the median round trip",
    "call_p50_us": "the median call time",
    "throughput_per_s": "the time that a message took",
    "calls_per_s": "the time that a call took",
    "queueing_p50_us": "the median queueing time",
    TIME: "its time",
}
"""The first of these figures in the slices is drawn, for a rate its inverse: more is slower.

Queueing comes last: flat out it is the length of a queue, which a way may choose, and not slowness.
"""
DISTURBED = 1.5
"""How many times as slow as usual: if more than half of the ways exceed it at once, it is the
host."""
MAX_POINTS = 400
"""More cycles are drawn in about this many blocks; the last of each round may be shorter."""
_CYCLES = (
    "Each point is a cycle, in which each {who} had a {turn}: {figure} there, beside the {who}'s "
    "own median, for half of the {who}s; the band has all of them. "
)
_BLOCKS = (
    "Each point is a block of {size} cycles of one round; the last of a round may be shorter. "
    "In a cycle each {who} had a {turn}: {figure} there, beside the {who}'s own median, for half "
    "of the block's {turn}s; the band has all of them. "
)
_DISTURBED = (
    "The {who}s take turns, so what slows all of them at once is the host: a large point marks "
    "{where} more than half of the {who}s, and two at least, were over "
    f"{DISTURBED:g} times as slow as usual. Upright lines separate the rounds."
)


class _Turns(Struct, frozen=True):
    """Cases that take turns; `where`: what they have in common, if others take turns, too."""

    where: str
    cases: Sequence[Case]

    @property
    def words(self) -> dict[str, str]:
        """The nouns for what takes turns, and for a turn."""
        if alternates(self.cases[0]):
            return {"who": "case", "turn": "sample"}
        return {"who": "way", "turn": "slice"}

    @property
    def columns(self) -> dict[str, str]:
        who = self.words["who"]
        return {
            "position": "cycle",
            "round": "round",
            "median": f"half of the {who}s, × their usual",
            "low": f"fastest {who}",
            "high": f"slowest {who}",
            "is_disturbed": "disturbed",
        }


class Cycle(Struct, frozen=True):
    """How many times as slow as usual each way was in a cycle, for ways with the figure there."""

    round: int
    slowness: tuple[float, ...]

    @property
    def is_disturbed(self) -> bool:
        """Whether more than half of the ways, and at least two, were slow."""
        slow = sum(each > DISTURBED for each in self.slowness)
        return slow >= 2 and 2 * slow > len(self.slowness)


def timeline_charts(result: Result) -> Iterator[Chart]:
    """A chart for each group of two cases or more that took turns: in slices, or by samples."""
    runs = good_runs(result)
    groups = [group for field in fields_of(result) for group in _in_slices(field, runs)]
    groups += _by_samples(result)
    for at, turns in enumerate(groups):
        cycles, figure = _cycles([run for case in turns.cases for run in runs[case.case_id]])
        size = max(1, -(-len(cycles) // MAX_POINTS))
        rows = tuple(_rows(cycles, size))
        if rows:
            name = f"timeline-{at + 1}" if len(groups) > 1 else "timeline"
            title, text = f"Timeline of {turns.words['turn']}s", _text(turns, figure, size)
            text += clocks_told(_bounds_us(result, turns.cases, figure))
            draw = partial(_draw, rows=rows, columns=turns.columns)
            yield Chart(name, title, text, turns.columns, rows, draw, where=turns.where)


def _bounds_us(result: Result, cases: Sequence[Case], figure: str) -> Iterator[float]:
    """By how much two clocks may be wrong in the figure of each case, in µs."""
    if is_of_two_clocks(figure):
        yield from (bound_us(each.figures) for each in result.summaries if each.case in cases)


def _text(turns: _Turns, figure: str, size: int) -> str:
    what = _CYCLES if size == 1 else _BLOCKS
    where = "where" if size == 1 else "a block with a cycle in which"
    said = what.format(figure=FIGURES[figure], size=size, **turns.words)
    return said + _DISTURBED.format(where=where, **turns.words)


def _by_samples(result: Result) -> list[_Turns]:
    """For each link, the cases of `sizes` whose samples alternate."""
    groups: dict[Hashable, list[Case]] = {}
    for case in result.plan.cases:
        if alternates(case) and is_exchange(case):
            groups.setdefault(turns_of(case), []).append(case)
    found = [cases for cases in groups.values() if len(cases) > 1]
    return [_Turns(f"over {cases[0].link}" if len(found) > 1 else "", cases) for cases in found]


def _in_slices(field: Field, runs: Mapping[str, Sequence[Run]]) -> Iterator[_Turns]:
    """The groups of entrants that took turns with each other. `runs`: case_id → its good runs."""
    groups: dict[Hashable, list[Entrant]] = {}
    for entrant in field.entrants:
        key = turns_taken(entrant.case, runs[entrant.case.case_id])
        groups.setdefault(key, []).append(entrant)
    for entrants in groups.values():
        if len(entrants) > 1:
            where = _in_common(entrants) if len(groups) > 1 else field.title
            yield _Turns(where, [each.case for each in entrants])


def _in_common(entrants: Sequence[Entrant]) -> str:
    """The words of their labels that all have, but for a strategy."""
    first, *others = (each.label.removesuffix(each.case.strategy).split(", ") for each in entrants)
    return ", ".join(word for word in first if word and all(word in each for each in others))


def _cycles(runs: Sequence[Run]) -> tuple[list[Cycle], str]:
    """Every cycle of these runs in the order of time, and the figure that is drawn."""
    for figure in FIGURES:
        slices: Slices = {}
        for run in runs:
            if any(run.slices.get(figure, ())):
                slices.setdefault(run.case_id, {})[run.round] = run.slices[figure]
        if slices:
            return _relative(slices, is_rate=is_higher_better(figure)), figure
    return [], ""


def _rows(cycles: Sequence[Cycle], size: int) -> Iterator[Row]:
    """A row for each block of `size` cycles of one round; a round's last block may be shorter."""
    at = 0
    for round, group in groupby(cycles, key=lambda each: each.round):
        of_round = list(group)
        for first in range(0, len(of_round), size):
            block = of_round[first : first + size]
            values = [value for each in block for value in each.slowness]
            if values:
                yield {
                    "position": at + first + 1,
                    "round": round + 1,
                    "median": median(values),
                    "low": min(values),
                    "high": max(values),
                    "is_disturbed": "yes" if any(each.is_disturbed for each in block) else "no",
                }
        at += len(of_round)


def _relative(slices: Slices, *, is_rate: bool) -> list[Cycle]:
    """Every cycle of every round."""
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
            cycles.append(Cycle(round, tuple(values)))
    return cycles


def _draw(data: Data, rows: tuple[Row, ...], columns: dict[str, str]) -> Drawing:
    base = alt.Chart(data, height=220).encode(
        x=alt.X(
            "position:Q",
            title="cycle, in the order of time",
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
            tooltip=tooltips(columns, "is_disturbed"),
        ),
    )
