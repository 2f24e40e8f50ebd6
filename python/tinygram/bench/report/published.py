"""The nine published ways beside ours, each as a ratio to its own `loop/nodelay`.

Source of `stream_published.csv`: a published comparison of nine ways in Python to send 1,000,000
small messages over one connection, flat out. It came from another machine, so that only ratios can
be set side by side; and what it calls latency is hand-over to receipt, flat out: our `queueing_*`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

from tinygram.bench.report.formats import UNKNOWN, number, rate
from tinygram.bench.report.layout import Column, Row, Table
from tinygram.bench.result import Result, Summary
from tinygram.bench.statistics.loads import Load

BASE = ("loop", "nodelay")
SOURCE = "Published figures: a published comparison of nine ways in Python, on another machine."
MICROSECONDS_PER_SECOND = 1e6


@dataclass(frozen=True)
class PublishedWay:
    """One row of the published table: one number each, without an interval."""

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
    file = resources.files("tinygram.bench.report") / "stream_published.csv"
    return tuple(_way(row) for row in csv.DictReader(file.read_text("utf-8").splitlines()))


def published_tables(result: Result, load: Load) -> tuple[Table, ...]:
    """Throughput and run time, then queue length; ours are the `stdlib` rows of `load`."""
    ours = {
        (summary.case.runtime, summary.case.strategy): summary
        for summary in result.summaries
        if summary.case.implementation == "stdlib" and Load.of(summary.case) == load
    }
    speed = (
        ("throughput", "throughput_per_s", lambda way: way.throughput_per_s),
        ("run time", "run_time_s", lambda way: way.run_time_s),
    )
    queue = (
        ("mean", "queueing_mean_us", lambda way: way.latency_mean_s),
        ("p99", "queueing_p99_us", lambda way: way.latency_p99_s),
        ("p99.99", "queueing_p99_99_us", lambda way: way.latency_p99_99_s),
    )
    return (
        _table(
            "Throughput and run time beside the published ones, each ÷ its own loop/nodelay",
            speed,
            ("messages/s\npublished", lambda way: rate(way.throughput_per_s)),
            ours,
        ),
        _table(
            "Queue length beside what was published as latency, each ÷ its own loop/nodelay",
            queue,
            (
                "mean µs\npublished",
                lambda way: number(way.latency_mean_s * MICROSECONDS_PER_SECOND),
            ),
            ours,
        ),
    )


def _table(
    title: str,
    figures: tuple[tuple[str, str, Published], ...],
    absolute: tuple[str, Callable[[PublishedWay], str]],
    ours: dict[tuple[str, str], Summary],
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
            cells += [_our_ratio(ours, way, figure), number(published(way) / published(base))]
        rows.append(Row((*cells, text(way))))
    return Table(title, (*columns, Column(header, 1)), tuple(rows), (SOURCE,))


def _our_ratio(ours: dict[tuple[str, str], Summary], way: PublishedWay, figure: str) -> str:
    """Median ÷ median of `loop/nodelay`; unknown where either is."""
    medians = []
    for key in ((way.runtime, way.strategy), BASE):
        found = ours[key].figures.get(figure) if key in ours else None
        if found is None or not found.median:
            return UNKNOWN
        medians.append(found.median)
    return number(medians[0] / medians[1])


def _way(row: dict[str, str]) -> PublishedWay:
    hold = f":{row['hold_us']}us" if row["hold_us"] else ""
    figures = PublishedWay.__dataclass_fields__.keys() - {"runtime", "strategy"}
    return PublishedWay(
        runtime=row["runtime"],
        strategy=row["strategy"] + hold,
        **{name: float(row[name]) for name in figures},
    )
