"""The report of `echo`: what each server echoes, and its round trips."""

from __future__ import annotations

from msgspec.structs import replace

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document
from tinygram_bench.report.loads import loads_document
from tinygram_bench.report.loads.tables import (
    SHOWN_RECORDS,
    SHOWN_THROUGHPUT,
    LoadTable,
    shown_median,
    shown_tail,
)
from tinygram_bench.report.prose import pace
from tinygram_bench.report.published.echo import published_tables
from tinygram_bench.statistics.workloads.loads import Load

CPU = (
    "CPU is the server's, of all its threads, the receive work that the kernel does in its system "
    "calls included. Round trips are measured by the client. Without a rate it is a closed loop, "
    "in which a slow server is asked less often; at a rate they count from when messages were due."
)
TLS = LoadTable("TLS records of the replies, and what they take on the wire", SHOWN_RECORDS)
TABLES = (
    LoadTable(
        "Messages echoed",
        (
            *SHOWN_THROUGHPUT,
            shown_median("MB/s\nboth\nways", "both_ways_mb_per_s", 3),
            shown_median("messages\n/write", "messages_per_write", 1),
            shown_median("server\nCPU\ns/M", "cpu_s_per_million", 0),
            shown_median("in\nflight", "in_flight", 5),
            shown_median("client\nbusy", "client_cpu_share", 4),
        ),
        compares="by ratio",
    ),
    LoadTable(
        "Round trip, the next message sent when one has come back (µs)", shown_tail("round_trip")
    ),
)


def echo_document(result: Result, published: bool) -> Document:
    beside = published_tables if published else None
    return loads_document(result, _tables_of, beside, CPU)


def _tables_of(load: Load) -> tuple[LoadTable, ...]:
    tables = TABLES if load.is_closed_loop else _at_a_rate(load)
    return (*tables, TLS) if load.tls else tables


def _at_a_rate(load: Load) -> tuple[LoadTable, ...]:
    """Round trips first: how many messages there are is asked for, and no result."""
    messages, _ = TABLES
    counted = tuple(each for each in messages.shown if each not in SHOWN_THROUGHPUT)
    shown = (
        *shown_tail("round_trip"),
        shown_median("start\ndelay\np50", "start_delay_p50_us", 5),
        shown_median("start\ndelay\np99", "start_delay_p99_us", 4),
    )
    title = f"Round trip from when the message was due {pace(load)} (µs)"
    return (
        LoadTable(title, shown, compares="by marks"),
        replace(messages, shown=counted, compares=None),
    )
