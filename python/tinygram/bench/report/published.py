"""The nine published ways, as they were published.

Source of `stream_published.csv`: a published comparison of nine ways in Python to send 1,000,000
small messages over one connection, flat out. It came from another machine, so that only ratios can
be set side by side; and what it calls latency is hand-over to receipt, flat out: our `queueing_*`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

from tinygram.bench.result import MessageBytes

PUBLISHED_MESSAGES = 1_000_000
PUBLISHED_BYTES = MessageBytes(min=1, max=500)


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


def published_ways() -> tuple[PublishedWay, ...]:
    """The nine ways in the published order."""
    file = resources.files("tinygram.bench.report") / "stream_published.csv"
    return tuple(_way(row) for row in csv.DictReader(file.read_text("utf-8").splitlines()))


def _way(row: dict[str, str]) -> PublishedWay:
    hold = f":{row['hold_us']}us" if row["hold_us"] else ""
    figures = PublishedWay.__dataclass_fields__.keys() - {"runtime", "strategy"}
    return PublishedWay(
        runtime=row["runtime"],
        strategy=row["strategy"] + hold,
        **{name: float(row[name]) for name in figures},
    )
