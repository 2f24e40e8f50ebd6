"""The published calls, with the ratio of the two strategies beside ours.

Source of `rr.csv`: a published comparison of a Java server with two machines of a hundred blocking
client threads each, the client's TCP_NODELAY on and off. Its time of a call includes connecting;
ours does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Summary
from tinygram_bench.report.numbers import UNKNOWN, number, rate, ratio
from tinygram_bench.report.published import published_rows
from tinygram_bench.report.table import Column, Row, Table
from tinygram_bench.statistics.workloads.rr import BASELINE, all_but_strategy

NOTES = (
    "Whether these rates are of one client machine or of both was not said. Connect times like "
    "these can come of a backlog that overflows: see `--backlog 50`.",
    "÷ nagle is of the time of a call, connecting included.",
)
OTHERWISE = (
    "The published calls are of 2 x 100 callers, 10,010 B and 2 B, and a connection for each "
    "request: nothing here is like them, so that they are not shown."
)
_COMPARED = "nodelay"


def published_table(summaries: Sequence[Summary], labels: Mapping[str, str]) -> Table | None:
    """The published table with our ratios; None where no measured case is like it.

    `labels`: case_id → the words that tell the case from the others, its strategy last.
    """
    alike = [summary for summary in summaries if _is_alike(summary.case)]
    if not alike:
        return None
    ours = _ratios(alike, labels)
    rows = {
        "nodelay" if row["client_tcp_nodelay"] == "true" else BASELINE: row
        for row in published_rows("rr")
    }
    headers = (
        *("case", "calls/s\nmean", "SD", "call,\nconnect\nincluded", "connect\nmean"),
        "÷ nagle\npublished",
    )
    lines = ("\n".join(("÷ nagle", "ours", *where.split(", "))).rstrip() for where in ours)
    own = (Column(header, place) for place, header in enumerate(lines))
    base_ms = float(rows[BASELINE]["call_ms_mean"])
    return Table(
        "Published calls, on other machines (ms)",
        (*(Column(header) for header in headers), *own),
        tuple(_row(strategy, row, base_ms, ours) for strategy, row in rows.items()),
        NOTES,
    )


def _is_alike(case: Case) -> bool:
    """Whether the case has the published callers, sizes and connections."""
    asked = RrParameters.of(case)
    return (
        (case.message_bytes.max, asked.reply_bytes) == (10_010, 2)
        and (asked.processes, asked.callers_per_process) == (2, 100)
        and asked.connections == "per-request"
    )


def _ratios(summaries: Sequence[Summary], labels: Mapping[str, str]) -> dict[str, float]:
    """Words that tell a pair from the others → `nodelay` ÷ `nagle` where nothing else differs."""
    bases = {
        all_but_strategy(summary.case): time_us
        for summary in summaries
        if summary.case.strategy == BASELINE and (time_us := _time_us(summary))
    }
    found = {}
    for summary in summaries:
        base_us = bases.get(all_but_strategy(summary.case))
        time_us = _time_us(summary)
        if summary.case.strategy == _COMPARED and base_us and time_us:
            where = labels[summary.case.case_id].removesuffix(_COMPARED).removesuffix(", ")
            found[where] = time_us / base_us
    return found


def _time_us(summary: Summary) -> float | None:
    """The mean time of a call in µs, connecting included."""
    call, connect = (summary.figures.get(f"{name}_mean_us") for name in ("call", "connect"))
    return None if call is None or connect is None else call.median + connect.median


def _row(strategy: str, row: dict[str, str], base_ms: float, ours: Mapping[str, float]) -> Row:
    call_ms = float(row["call_ms_mean"])
    is_base = strategy == BASELINE
    return Row(
        (
            strategy,
            rate(float(row["calls_per_s_mean"])),
            rate(float(row["calls_per_s_sd"])),
            number(call_ms),
            number(float(row["connect_ms_mean"])),
            UNKNOWN if is_base else ratio(call_ms / base_ms),
            *(UNKNOWN if is_base else ratio(found) for found in ours.values()),
        )
    )
