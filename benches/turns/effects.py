"""How much each known way to fool oneself with slices comes to, for docs/resolution.md.

Cases take turns in slices (docs/decisions/0023; here of 20 ms, though streams at a rate have
shorter ones where nobody asks), and an idle connection, a cold cache or a
neighbour may make a slice differ from a run that is alone. Each table here is one such effect as a
ratio, of rounds with fresh processes, with the interval that the bench gives its own ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

from msgspec.structs import replace
from pairs import SEED, show_environment
from published import stored
from published.stored import Cell, Column, Row
from published.tables import in_words, lines_of
from published.telling import asked_into, store
from turns.cases import CONGESTION_CONTROL, ROUNDS, rounds, stream_cases

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.links import DEFAULT_BACKEND, parse_links, prepare
from tinygram_bench.model.result import Case, Figure, Plan, Run
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs import group, slice_figures, slices
from tinygram_bench.runs.slices import Slices
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.verdicts.comparison import round_ratios
from tinygram_bench.statistics.workloads.loads import way_of
from tinygram_bench.workloads.stream import slices as stream_slices
from tinygram_bench.workloads.stream.run import Stream

_WAYS = (
    "loop/nodelay",
    "loop/tinygram/adaptive",
    "threads/tinygram/adaptive",
    "asyncio/nodelay",
    "asyncio/tinygram/adaptive",
)
_RATE_PER_S = 10_000.0
_RATES_PER_S = (1_000.0, _RATE_PER_S)
_LENGTHS_NS = (5_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000)
_PAIR_S = 60
_EDGES_MS = (0, 1, 3, 5, 10, 15, 20)
"""The parts of a slice, in ms after it has begun."""
_SHORT_LINK = "rtt=1ms"
_LONG_LINK = "rtt=20ms,bandwidth=100mbit"
_LONG_SLICE_NS = 400_000_000
"""While the other case has such a slice, a connection rests for longer than its RTO."""
_AWAKE = ("within-awake", "last-awake", "windows")
"""The tables of cores that are kept awake: over links they always are."""
Rows = list[tuple[Cell, ...]]


def main() -> int:
    into = asked_into(__doc__)
    prepare(parse_links([_SHORT_LINK, _LONG_LINK]), DEFAULT_BACKEND)
    show_environment(CONGESTION_CONTROL)
    for name, part in parts().items():
        _tell(into, name, *part)
    return 0


Part = tuple[str, tuple[str, ...], Callable[[], Rows]]
"""A title, the heads of a table, and how its rows are measured."""


def parts() -> Mapping[str, Part]:
    """Each table of the page by its name there, in the order of the page."""
    return {
        "within-asleep": _within(is_awake=False),
        "last-asleep": _last(is_awake=False),
        "within-awake": _within(is_awake=True),
        "last-awake": _last(is_awake=True),
        "trend": _over(),
        "neighbours": _neighbours(),
        "windows": _windows(),
        "slice-lengths": _lengths(),
    }


def _tell(
    into: Path | None, name: str, title: str, heads: Sequence[str], measured: Callable[[], Rows]
) -> None:
    """Measure a table, print it, and store it where that is asked."""
    first, *others = heads
    columns = [Column(each, each, 3, is_text=True) for each in others]
    rows = [Row(str(row[0]), dict(zip(others, row[1:], strict=True))) for row in measured()]
    print(f"\n**{title}**\n\n{lines_of(first, columns, rows)}", flush=True)
    # The environment is told as the cores were.
    with cores_awake() if name in _AWAKE else nullcontext():
        store(into, "turns.effects", name, first, columns, rows, CONGESTION_CONTROL)


def _within(is_awake: bool) -> Part:
    """Latency by the part of a slice that messages were due in; over a link cores never sleep."""
    names = [f"{low}-{high} ms" for low, high in pairwise(_EDGES_MS)]

    def rows() -> Rows:
        found = _parts_of_slices(stream_cases(_WAYS, _RATE_PER_S), is_awake)
        if not is_awake:
            return [(name, *map(stored.figure, parts)) for name, parts in found.items()]
        over_link = stream_cases(("loop/nodelay", "loop/nagle"), 5_000.0, link=_SHORT_LINK)
        found |= {
            f"{name}, {_SHORT_LINK}": parts
            for name, parts in _parts_of_slices(over_link, is_awake).items()
        }
        return [(name, *map(stored.figure, parts)) for name, parts in found.items()]

    title = f"p50 of a part of a slice ÷ p50 of the slice, {_cores(is_awake)}"
    return title, ("way", *names), rows


def _cores(is_awake: bool) -> str:
    return "cores kept awake" if is_awake else "cores that may sleep"


def _parts_of_slices(cases: Sequence[Case], is_awake: bool) -> dict[str, list[Figure]]:
    """Way → of each part of a slice, its p50 ÷ that of the slice, over the rounds."""
    ratios: dict[str, list[list[float]]] = {}
    for case, by_slice in _slices_of_rounds(cases, is_awake):
        of_round = [_of_parts(latencies_ns) for latencies_ns in by_slice if latencies_ns]
        ratios.setdefault(way_of(case), []).append(
            [median(each) for each in zip(*of_round, strict=True)]
        )
    return {
        way: [figure_of(part) for part in zip(*rows, strict=True)] for way, rows in ratios.items()
    }


def _slices_of_rounds(
    cases: Sequence[Case], is_awake: bool
) -> Iterator[tuple[Case, Sequence[Sequence[int]]]]:
    """Each case's latencies, slice by slice, in the order of their being due; round by round."""
    with _seen_whole() as seen:
        for _ in rounds(Stream(SEED), cases, is_awake=is_awake):
            yield from zip(cases, seen, strict=True)
            seen.clear()


def _of_parts(latencies_ns: Sequence[int]) -> list[float]:
    """Figures of a slice's latencies, in the order of their being due at a constant rate."""
    per_ms = len(latencies_ns) / _EDGES_MS[-1]
    whole_ns = median(latencies_ns)
    return [
        median(latencies_ns[round(low * per_ms) : round(high * per_ms)]) / whole_ns
        for low, high in pairwise(_EDGES_MS)
    ]


@contextmanager
def _seen_whole() -> Iterator[list[Sequence[Sequence[int]]]]:
    """Nothing settles; the latencies of each case's slices, in the order of collecting."""
    seen: list[Sequence[Sequence[int]]] = []

    def noting(name: str, by_slice_ns: Sequence[Sequence[int]], per_slice: float) -> Any:
        if name == "latency":  # The pacer's errors come by the same function.
            seen.append([list(each) for each in by_slice_ns])
        return slice_figures.percentiles_us(name, by_slice_ns, per_slice)

    with (
        mock.patch.object(slices, "SETTLING_SHARE", 0.0),
        mock.patch.object(stream_slices, "percentiles_us", noting),
    ):
        yield seen


def _last(is_awake: bool) -> Part:
    """At a constant rate the last message is due at the very end of its slice."""

    def rows() -> Rows:
        found: Rows = []
        for rate_per_s in _RATES_PER_S:
            ratios: dict[str, list[float]] = {}
            cases = stream_cases(_WAYS, rate_per_s)
            for case, by_slice in _slices_of_rounds(cases, is_awake):
                whole = [each for each in by_slice if len(each) > 1]
                last = median(each[-1] for each in whole)
                others = median(latency_ns for each in whole for latency_ns in each[:-1])
                ratios.setdefault(way_of(case), []).append(last / others)
            load = f"{rate_per_s:,.0f}/s"
            found += [(way, load, stored.figure(figure_of(of))) for way, of in ratios.items()]
        return found

    title = f"p50 of the last message of each slice ÷ p50 of the others, {_cores(is_awake)}"
    return title, ("way", "load", "ratio"), rows


def _over() -> Part:
    """What a way has learned, and buffers that have grown, would show as a trend over a round."""

    def rows() -> Rows:
        found: Rows = []
        for rate_per_s, figure in ((_RATE_PER_S, "latency_p50_us"), (None, "throughput_per_s")):
            cases = stream_cases(_WAYS, rate_per_s)
            ratios: dict[str, list[float]] = {}
            for runs in rounds(Stream(SEED), cases):
                for case, run in zip(cases, runs, strict=True):
                    values = run.slices[figure]
                    half = len(values) // 2
                    ratios.setdefault(way_of(case), []).append(
                        _median(values[half:]) / _median(values[:half])
                    )
            load = "flat out" if rate_per_s is None else f"{rate_per_s:,.0f}/s"
            found += [
                (way, load, figure, stored.figure(figure_of(of))) for way, of in ratios.items()
            ]
        return found

    return "Second half of a round's slices ÷ the first", ("way", "load", "figure", "ratio"), rows


@dataclass
class _Tables:
    """The turns of the cases of a group, as they were drawn."""

    drawn: list[tuple[Slices, ...]] = field(default_factory=list)

    def before(self, case: int) -> list[int | None]:
        """Whose slice came before each slice of a case in the last round."""
        turns = sorted(
            (begin_ns, number)
            for number, of_case in enumerate(self.drawn[-1])
            for begin_ns in of_case.begins_ns
        )
        numbers = [number for _, number in turns]
        befores = [None, *numbers]
        return [before for before, number in zip(befores, numbers, strict=False) if number == case]


def _neighbours() -> Part:
    """A slice by whose slice came before it."""

    def rows() -> Rows:
        found: Rows = []
        for rate_per_s, figure in ((_RATE_PER_S, "latency_p50_us"), (None, "throughput_per_s")):
            cases = stream_cases(_WAYS, rate_per_s, seconds=2)
            with _noting_tables() as tables:
                by_pair: dict[tuple[int, int], list[float]] = {}
                for runs in rounds(Stream(SEED), cases):
                    for pair, ratio in _by_predecessor(runs, figure, tables):
                        by_pair.setdefault(pair, []).append(ratio)
            figures = {pair: figure_of(ratios) for pair, ratios in by_pair.items()}
            off = [each for each in figures.values() if not each.low <= 1 <= each.high]
            (after, before), most = max(figures.items(), key=lambda each: abs(each[1].median - 1))
            found.append(
                (
                    "flat out" if rate_per_s is None else f"{rate_per_s:,.0f}/s",
                    figure,
                    f"{len(off)} of {len(figures)}",
                    f"{way_of(cases[after])} after {way_of(cases[before])}: "
                    f"{in_words(stored.figure(most), 3)}",
                )
            )
        return found

    heads = ("load", "figure", "pairs whose interval excludes 1", "the farthest")
    return "A way's slices after one neighbour ÷ all its slices", heads, rows


def _by_predecessor(
    runs: Sequence[Run], figure: str, tables: _Tables
) -> Iterator[tuple[tuple[int, int], float]]:
    for number, run in enumerate(runs):
        values = run.slices[figure]
        whole = _median(values)
        befores = tables.before(number)
        for before in {each for each in befores if each not in (None, number)}:
            after = [value for value, each in zip(values, befores, strict=True) if each == before]
            if before is not None and any(after):
                yield (number, before), _median(after) / whole


@contextmanager
def _noting_tables() -> Iterator[_Tables]:
    tables = _Tables()

    def noting(waits_ns: Sequence[int], own_ns: int, slice_ns: int, seed: str) -> Any:
        drawn = slices.table(waits_ns, own_ns, slice_ns, seed)
        tables.drawn.append(drawn)
        return drawn

    with mock.patch.object(group, "table", noting):
        yield tables


def _windows() -> Part:
    """Two cases that are the same, but one's connection may restart its window after a rest."""

    def rows() -> Rows:
        keep, turns = group._keep_windows, count()

        def every_second(*of_case: Any) -> bool:
            return keep(*of_case) if next(turns) % 2 == 0 else True

        (case,) = stream_cases(
            ("loop/nodelay",), None, link=_LONG_LINK, seconds=4, slice_ns=_LONG_SLICE_NS
        )
        ratios: dict[str, list[float]] = {}
        with mock.patch.object(group, "_keep_windows", every_second):
            for kept, restarting in rounds(Stream(SEED), [case, _again(case)]):
                for figure in ("throughput_per_s", "queueing_mean_us"):
                    pairs = zip(kept.slices[figure], restarting.slices[figure], strict=True)
                    ratios.setdefault(figure, []).append(
                        median(after / before for before, after in pairs if before and after)
                    )
        return [(figure, stored.figure(figure_of(of))) for figure, of in ratios.items()]

    title = (
        f"Windows that restart after a rest ÷ those that are kept, {_LONG_LINK}, slices of 400 ms"
    )
    return title, ("figure", "ratio"), rows


def _lengths() -> Part:
    """How long a slice is best: the same case twice, in the same time with its gaps."""

    def rows() -> Rows:
        found: Rows = []
        for rate_per_s in (*_RATES_PER_S, None):
            paced = ("latency_p50_us", "cpu_s_per_million")
            figures = ("throughput_per_s",) if rate_per_s is None else paced
            widths: dict[str, list[str]] = {figure: [] for figure in figures}
            for slice_ns in _LENGTHS_NS:
                seconds = _PAIR_S / 2 / ROUNDS * slice_ns / (slice_ns + slices.GAP_NS)
                (case,) = stream_cases(
                    ("loop/nodelay",), rate_per_s, seconds=seconds, slice_ns=slice_ns
                )
                cases = (case, _again(case))
                runs = [run for of_round in rounds(Stream(SEED), cases) for run in of_round]
                base, again = samples_of(Plan(cases, ROUNDS, SEED, ()), runs).values()
                for figure in figures:
                    ratio = figure_of(round_ratios(base, again, figure))
                    widths[figure].append(f"{ratio.half_width:.1%}")
            load = "flat out" if rate_per_s is None else f"{rate_per_s:,.0f}/s"
            found += [(load, figure, *of_lengths) for figure, of_lengths in widths.items()]
        return found

    title = f"Half width of a case beside itself in {_PAIR_S} s, by the length of slices"
    lengths = (format_duration_ns(slice_ns) for slice_ns in _LENGTHS_NS)
    return title, ("load", "figure", *lengths), rows


def _again(case: Case) -> Case:
    return replace(case, case_id=f"{case.case_id}#again")


def _median(values: Sequence[float | None]) -> float:
    return median(value for value in values if value is not None)


if __name__ == "__main__":
    raise SystemExit(main())
