"""The published echo servers beside ours, each as a ratio to its own uvloop server.

Source of `echo.csv`: a published comparison of uvloop with a pool of threads, 5 clients. Its
threads sent their whole buffer, however little they had read into it: `--faulty whole-buffer`.
`echo_second.csv` is its second table, from another machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tinygram_bench.model.result import Figure, Result
from tinygram_bench.model.units import format_bytes
from tinygram_bench.report.numbers import UNKNOWN, number, rate
from tinygram_bench.report.published import published_rows
from tinygram_bench.report.table import Column, Shown, Table, table_of
from tinygram_bench.statistics.workloads.loads import Load, way_of

FAULT = "whole-buffer"
TITLE = "Messages echoed beside the published ones, each ÷ its own uvloop server"
NOTES = (
    "Published figures: a comparison of uvloop with threads, on another machine, 5 clients with "
    "one message in flight each.",
    "Its threads sent their whole buffer whatever they had read; --faulty whole-buffer measures "
    "that as its client did. Ours are ratios of medians.",
)
SECOND_TITLE = "The same beside its second table, of a second machine"
SECOND_NOTES = (
    "Rows of the second table that repeat the first one's figures are no measurement of the second "
    "machine: they have no ratio.",
)
REPEATED = "repeats the first"
EMPTY = "was left empty"

Rates = Mapping[str, Figure | None]
"""Way → our messages/s."""
_BUFFER = format_bytes(64 << 10)
_NEAREST = {
    "uvloop": "uvloop/protocol",
    "uvloop/protocol": "uvloop/protocol",
    "uvloop/streams": f"uvloop/streams:{_BUFFER}",
    "asyncio": "asyncio/protocol",
    "asyncio/protocol": "asyncio/protocol",
    "asyncio/streams": f"asyncio/streams:{_BUFFER}",
}
"""A published server → our nearest one. A plain `uvloop` has the figures of its protocol."""
_UVLOOP, _THREADS = "uvloop", "threads/recvmsg_into"


class PublishedServer(Struct, frozen=True):
    """One row of a published table; `buffer_bytes` None: the event loop's own buffer."""

    server: str
    buffer_bytes: int | None
    message_bytes: int
    messages_per_s: float | None

    @property
    def way(self) -> str:
        """The name of our nearest way."""
        if self.buffer_bytes is None:
            return _NEAREST[self.server]
        return f"{_THREADS}:{format_bytes(self.buffer_bytes)}"

    @property
    def name(self) -> str:
        """The published name, with the size of the buffer."""
        if self.buffer_bytes is None:
            return self.server
        return f"{self.server}:{format_bytes(self.buffer_bytes)}"


def published_servers(table: str) -> tuple[PublishedServer, ...]:
    """The rows in the published order, without duplicates."""
    rows = (
        PublishedServer(
            server=row["server"],
            buffer_bytes=int(row["buffer_bytes"]) if row["buffer_bytes"] else None,
            message_bytes=int(row["message_bytes"]),
            messages_per_s=float(row["messages_per_s"]) if row["messages_per_s"] else None,
        )
        for row in published_rows(table)
    )
    return tuple(dict.fromkeys(rows))


def published_tables(result: Result, load: Load) -> tuple[Table, ...]:
    """Both tables for the load's message size; none where that was not published."""
    first, second = (
        [each for each in published_servers(table) if each.message_bytes == load.message_bytes.max]
        for table in ("echo", "echo_second")
    )
    if not first:
        return ()
    ours = {
        way_of(summary.case): summary.figures.get("throughput_per_s")
        for summary in result.summaries
        if Load.of(summary.case) == load
    }
    return _first(first, ours), _second(second, {each.messages_per_s for each in first}, ours)


def _first(published: list[PublishedServer], ours: Rates) -> Table:
    base = _uvloop_of(published)
    shown: tuple[Shown[PublishedServer], ...] = (
        Shown(Column("server"), lambda each: each.way),
        Shown(Column("messages/s\npublished"), lambda each: rate(each.messages_per_s)),
        Shown(Column("÷ uvloop\npublished"), lambda each: _published_ratio(each, base)),
        Shown(Column("÷ uvloop\nours"), lambda each: _ratio(ours, each.way)),
        Shown(Column("÷ uvloop\nours, faulty"), lambda each: _ratio(ours, f"{each.way}:{FAULT}")),
    )
    return table_of(TITLE, shown, published, NOTES)


def _second(published: list[PublishedServer], of_first: set[float | None], ours: Rates) -> Table:
    base = _uvloop_of(published)

    def remark(server: PublishedServer) -> str:
        if server.messages_per_s is None:
            return EMPTY
        return REPEATED if server.messages_per_s in of_first else ""

    def published_ratio(server: PublishedServer) -> str:
        return UNKNOWN if remark(server) else _published_ratio(server, base)

    shown: tuple[Shown[PublishedServer], ...] = (
        Shown(Column("server"), lambda each: each.name),
        Shown(Column("messages/s\npublished"), lambda each: rate(each.messages_per_s)),
        Shown(Column("÷ uvloop\npublished"), published_ratio),
        Shown(Column("÷ uvloop\nours"), lambda each: _ratio(ours, each.way)),
        Shown(Column("its figure"), remark),
    )
    return table_of(SECOND_TITLE, shown, published, SECOND_NOTES)


def _uvloop_of(published: list[PublishedServer]) -> float | None:
    return next(each.messages_per_s for each in published if each.server == _UVLOOP)


def _published_ratio(server: PublishedServer, base: float | None) -> str:
    if server.messages_per_s is None or not base:
        return UNKNOWN
    return number(server.messages_per_s / base)


def _ratio(ours: Rates, way: str) -> str:
    figure, base = ours.get(way), ours.get(_NEAREST[_UVLOOP])
    if figure is None or base is None or not base.median:
        return UNKNOWN
    return number(figure.median / base.median)
