"""The nine published ways beside ours, each as a ratio to its own `loop/nodelay`.

Source of `stream.csv`: a published comparison of nine ways in Python to send 1,000,000 small
messages over one connection, flat out. What it calls latency is from hand-over to receipt, flat
out: our `queueing_*`. Our ratios are those of the verdicts, round by round, as in the tables above
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import MessageBytes, Result, Verdict
from tinygram_bench.report.numbers import marked_ratio, number, rate
from tinygram_bench.report.prose import marks_explained
from tinygram_bench.report.published import published_rows
from tinygram_bench.report.table import Column, Row, Table
from tinygram_bench.statistics.workloads.loads import Load

PUBLISHED_MESSAGES = 1_000_000
PUBLISHED_BYTES = MessageBytes(min=1, max=500)
BASE = ("loop", "nodelay")
SOURCE = "Published figures: a published comparison of nine ways in Python, on another machine."
UNLIKE = "The published comparison used 1,000,000 messages of 1–500 bytes, and this result did not."
HERE = (
    "Here a sender behind a queue takes up to 64 messages at a time, and a held batch is sent when "
    "its time ends, also when traffic stops."
)
MICROSECONDS_PER_SECOND = 1e6


class PublishedWay(Struct, frozen=True):
    """One row of the published table: a single number for each figure, without an interval."""

    runtime: str
    strategy: str
    throughput_per_s: float
    run_time_s: float
    latency_mean_s: float
    latency_p99_s: float
    latency_p99_99_s: float


Published = Callable[[PublishedWay], float]


def published_ways() -> tuple[PublishedWay, ...]:
    """The nine ways in the published order."""
    return tuple(_way(row) for row in published_rows("stream"))


def _way(row: dict[str, str]) -> PublishedWay:
    hold = f":{row['hold_us']}us" if row["hold_us"] else ""
    figures = set(PublishedWay.__struct_fields__) - {"runtime", "strategy"}
    return PublishedWay(
        runtime=row["runtime"],
        strategy=row["strategy"] + hold,
        **{name: float(row[name]) for name in figures},
    )


def published_tables(result: Result, load: Load) -> tuple[Table, ...]:
    """Throughput and run time, then queue length; ours are the `stdlib` rows of `load`.

    There are none where the load is paced, which was not published. Cases that took turns have no
    run time.
    """
    if not load.is_flat_out:
        return ()
    ours = {
        (case.runtime, case.strategy): case.case_id
        for case in result.plan.cases
        if case.implementation == "stdlib" and Load.of(case) == load
    }
    speed: tuple[tuple[str, str, Published], ...] = (
        ("throughput", "throughput_per_s", lambda way: way.throughput_per_s),
        ("run time", "run_time_s", lambda way: way.run_time_s),
    )
    if load.slice_ns is not None:
        speed = speed[:1]
    queue = (
        ("mean", "queueing_mean_us", lambda way: way.latency_mean_s),
        ("p99", "queueing_p99_us", lambda way: way.latency_p99_s),
        ("p99.99", "queueing_p99_99_us", lambda way: way.latency_p99_99_s),
    )
    verdicts = {
        (each.case_id, each.figure): each
        for each in result.verdicts
        if each.baseline_case_id == ours.get(BASE)
    }
    ratios = OurRatios(ours, verdicts)
    first = _table(
        f"{' and '.join(name for name, _, _ in speed).capitalize()} beside what was published, "
        "each ÷ its own loop/nodelay",
        speed,
        ("messages/s\npublished", lambda way: rate(way.throughput_per_s)),
        ratios,
    )
    second = _table(
        "Queue length beside what was published as latency, each ÷ its own loop/nodelay",
        queue,
        ("mean µs\npublished", lambda way: number(way.latency_mean_s * MICROSECONDS_PER_SECOND)),
        ratios,
    )
    return first, replace(second, notes=(*second.notes, *_differences(result, load)))


class OurRatios(Struct, frozen=True):
    """Our ratios to our own `loop/nodelay`, round by round: those of the verdicts."""

    case_ids: dict[tuple[str, str], str]
    verdicts: dict[tuple[str, str], Verdict]

    def text(self, way: PublishedWay, figure: str) -> str:
        """The ratio and its mark; `1` for the baseline itself."""
        key = (way.runtime, way.strategy)
        if key == BASE and key in self.case_ids:
            return "1"
        return marked_ratio(self.verdicts.get((self.case_ids.get(key, ""), figure)))

    def legend(self, figures: Iterable[str]) -> tuple[str, ...]:
        published = {(way.runtime, way.strategy) for way in published_ways()}
        shown = {case_id for key, case_id in self.case_ids.items() if key in published}
        wanted = set(figures)
        return marks_explained(
            [
                verdict
                for (case_id, figure), verdict in self.verdicts.items()
                if case_id in shown and figure in wanted and verdict.ratio
            ],
            "/".join(BASE),
        )


def _table(
    title: str,
    figures: tuple[tuple[str, str, Published], ...],
    absolute: tuple[str, Callable[[PublishedWay], str]],
    ours: OurRatios,
) -> Table:
    """A pair of columns per figure, ours and the published, and one absolute published figure."""
    ways = published_ways()
    base = next(way for way in ways if (way.runtime, way.strategy) == BASE)
    columns = [Column("case")]
    for header, _, _ in figures:
        columns += [Column(f"{header}\nours"), Column(f"{header}\npublished")]
    header, text = absolute
    rows = []
    for way in ways:
        cells = [f"{way.runtime}/{way.strategy}"]
        for _, figure, published in figures:
            cells += [ours.text(way, figure), number(published(way) / published(base))]
        rows.append(Row((*cells, text(way))))
    notes = ours.legend(figure for _, figure, _ in figures)
    return Table(title, (*columns, Column(header, 1)), tuple(rows), notes)


def _differences(result: Result, load: Load) -> tuple[str, ...]:
    """Reasons other than the machine why our figures may differ from the published ones."""
    asked = {
        StreamParameters.of(case).messages for case in result.plan.cases if Load.of(case) == load
    }
    is_like = asked == {PUBLISHED_MESSAGES} and load.message_bytes == PUBLISHED_BYTES
    return (SOURCE, HERE) if is_like else (SOURCE, UNLIKE, HERE)
