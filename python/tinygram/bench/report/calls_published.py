"""The published calls, as they were published.

Source of `rr_published.csv`: a published comparison of a Java server with two machines of a hundred
blocking client threads each, the client's TCP_NODELAY on and off. It came from other machines, so
that only shapes and ratios can be set side by side.
"""

from __future__ import annotations

import csv
from importlib import resources

from tinygram.bench.report.formats import number, rate
from tinygram.bench.report.layout import Column, Row, Table

NOTES = (
    "Whether these rates are of one client machine or of both was not said. Connect times like "
    "these come of a backlog that overflows: see `--backlog 50`.",
)


def published_calls() -> Table:
    """The published table."""
    file = resources.files("tinygram.bench.report") / "rr_published.csv"
    rows = csv.DictReader(file.read_text("utf-8").splitlines())
    columns = ("case", "calls/s\nmean", "SD", "call\nmean", "connect\nmean")
    return Table(
        "Published calls, on other machines (ms)",
        tuple(Column(header) for header in columns),
        tuple(_row(row) for row in rows),
        NOTES,
    )


def _row(row: dict[str, str]) -> Row:
    return Row(
        (
            "nodelay" if row["client_tcp_nodelay"] == "true" else "nagle",
            rate(float(row["calls_per_s_mean"])),
            rate(float(row["calls_per_s_sd"])),
            number(float(row["call_ms_mean"])),
            number(float(row["connect_ms_mean"])),
        )
    )
