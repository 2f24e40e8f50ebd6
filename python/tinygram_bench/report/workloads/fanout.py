"""The report of `fanout`: deliveries flat out; paced, latency of each message and of the last."""

from __future__ import annotations

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document
from tinygram_bench.report.loads import loads_document
from tinygram_bench.report.loads.tables import (
    SHOWN_THROUGHPUT,
    LoadTable,
    shown_interval,
    shown_median,
    shown_tail,
)
from tinygram_bench.report.prose import pace
from tinygram_bench.statistics.workloads.loads import Load

CPU = (
    "CPU is the publisher's; on one host it includes the receive work that the kernel does in its "
    "system calls. A message counts once for each subscriber that got it."
)
_COSTS = (
    shown_median("writes\n/message", "writes_per_message", 2),
    shown_median("publisher\nCPU µs\n/message", "cpu_s_per_million", 1),
    shown_median("subscribers\nCPU µs\n/message", "receiver_cpu_s_per_million", 5),
)
_FLAT_OUT = (
    LoadTable("Messages to subscribers", (*SHOWN_THROUGHPUT, *_COSTS), compares="by ratio"),
    LoadTable(
        "From a publication's begin until its last subscriber has it, the next one published when "
        "all was handed over (µs)",
        shown_tail("last"),
    ),
)
_LATENCY = (
    shown_median("p50", "latency_p50_us", 0),
    shown_interval("latency_p50_us", 4),
    shown_median("p99", "latency_p99_us", 0),
    shown_median("last\np50", "last_p50_us", 0),
    shown_interval("last_p50_us", 6),
    shown_median("last\np99", "last_p99_us", 3),
    shown_median("max", "latency_max_us", 7),
    *_COSTS,
)


def fanout_document(result: Result, published: bool) -> Document:  # noqa: ARG001 - nothing is
    return loads_document(result, _tables_of, None, CPU)


def _tables_of(load: Load) -> tuple[LoadTable, ...]:
    if load.is_flat_out:
        return _FLAT_OUT
    title = (
        f"Latency from the intended publication time {pace(load)}: of each message, and of each "
        "publication's last (µs)"
    )
    return (LoadTable(title, _LATENCY, compares="by marks"),)
