"""The published echo servers beside ours, each as a ratio to its own uvloop server.

Source of `echo_published.csv`: a published comparison of uvloop with a pool of threads, 5 clients.
Its threads sent their whole buffer, however little of it they had read: `--faulty whole-buffer`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

from tinygram.bench.report.formats import UNKNOWN, number, rate
from tinygram.bench.report.layout import Column, Row, Table
from tinygram.bench.result import Figure, Result
from tinygram.bench.statistics.loads import Load, way_of
from tinygram.bench.units import format_bytes

UVLOOP = "uvloop/protocol"
THREADS = "threads/recvmsg_into"
FAULT = "whole-buffer"
TITLE = "Messages echoed beside the published ones, each ÷ its own uvloop server"
NOTES = (
    "Published figures: a comparison of uvloop with threads, on another machine, 5 clients with "
    "one message in flight each.",
    "Its threads sent their whole buffer whatever they had read; --faulty whole-buffer measures "
    "that as its client did. Ours are ratios of medians.",
)


@dataclass(frozen=True)
class PublishedServer:
    """One row of the published table; `buffer_bytes` null: uvloop's own."""

    server: str
    buffer_bytes: int | None
    message_bytes: int
    messages_per_s: float

    @property
    def way(self) -> str:
        """What the nearest of ours is called."""
        if self.buffer_bytes is None:
            return UVLOOP
        return f"{THREADS}:{format_bytes(self.buffer_bytes)}"


def published_servers() -> tuple[PublishedServer, ...]:
    """The rows in the published order."""
    file = resources.files("tinygram.bench.report") / "echo_published.csv"
    return tuple(
        PublishedServer(
            server=row["server"],
            buffer_bytes=int(row["buffer_bytes"]) if row["buffer_bytes"] else None,
            message_bytes=int(row["message_bytes"]),
            messages_per_s=float(row["messages_per_s"]),
        )
        for row in csv.DictReader(file.read_text("utf-8").splitlines())
    )


def echo_published_tables(result: Result, load: Load) -> tuple[Table, ...]:
    """One table for the load's size of messages; none where it was not published."""
    published = [
        each for each in published_servers() if each.message_bytes == load.message_bytes.max
    ]
    if not published:
        return ()
    ours = {
        way_of(summary.case): summary.figures.get("throughput_per_s")
        for summary in result.summaries
        if Load.of(summary.case) == load
    }
    base = next(each for each in published if each.way == UVLOOP)
    columns = (
        Column("server"),
        Column("messages/s\npublished"),
        Column("÷ uvloop\npublished"),
        Column("÷ uvloop\nours"),
        Column("÷ uvloop\nours, faulty"),
    )
    rows = tuple(
        Row(
            (
                each.way,
                rate(each.messages_per_s),
                number(each.messages_per_s / base.messages_per_s),
                _ratio(ours.get(each.way), ours.get(UVLOOP)),
                _ratio(ours.get(f"{each.way}:{FAULT}"), ours.get(UVLOOP)),
            )
        )
        for each in published
    )
    return (Table(TITLE, columns, rows, NOTES),)


def _ratio(figure: Figure | None, base: Figure | None) -> str:
    if figure is None or base is None or not base.median:
        return UNKNOWN
    return number(figure.median / base.median)
