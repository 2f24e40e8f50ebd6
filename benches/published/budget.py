"""How long a message of many threads takes beyond the native limit, by the stored rows of speed."""

from __future__ import annotations

from collections.abc import Mapping

from published.stored import ROWS, Cell, Column, Figure, Row, Table, read
from published.tables import lines_of

_WAYS = ("combine", "coalesce:10us", "adaptive")
_FACES = {
    "": "CoalescingSocket: sock.send(m)",
    "send_many, ": "CoalescingSocket: sock.send_many(messages)",
}
"""What the rows of threads say of a face, and the row of its call."""
_PRODUCERS = ("8 producers", "1 producer")
_COLUMNS = (
    Column("native limit", "limit", 0),
    *(Column(f"beyond it: `{way}`", way, 0) for way in _WAYS),
    Column("beyond it at most, as asked", "asked", 0),
    Column("a call and the loop around it, on another host", "call", 1),
)


def table() -> str:
    """A row for each number of producers and each face, in ns a message."""
    tables = read(ROWS / "speed.json").tables
    rows = [beyond(tables, producers, face) for face in _FACES for producers in _PRODUCERS]
    return lines_of("ns a message", _COLUMNS, rows)


def beyond(tables: Mapping[str, Table], producers: str, face: str) -> Row:
    """What the medians of both sides' messages a second come to, in ns a message."""
    threads = {row.row: row for row in tables["threads"].rows}
    calls = {row.row: row for row in tables["send-calls"].rows}
    figures: dict[str, Cell] = {}
    for way in _WAYS:
        row = threads[f"{producers} flat out: {face}{way} ÷ native limit"]
        assert row.asked is not None
        assert row.asked.at_least is not None
        ours_ns, limit_ns = _ns_of(row)
        figures |= {
            way: ours_ns - limit_ns,
            "limit": limit_ns,
            "asked": limit_ns / row.asked.at_least - limit_ns,
        }
    call = calls[_FACES[face]].figures["ns"]
    assert isinstance(call, Figure)
    figures["call"] = call.median
    return Row(f"{producers}, {face or 'a message at a time'}".rstrip(", "), figures)


def _ns_of(row: Row) -> tuple[float, float]:
    """A message of ours, and of the native limit."""
    rates_per_s = row.figures["medians"]
    assert isinstance(rates_per_s, list)
    ours, limit = rates_per_s
    assert isinstance(ours, float)
    assert isinstance(limit, float)
    return 1e9 / ours, 1e9 / limit
