"""The report of `stream`: throughput and queue length flat out, latency paced; never mixed."""

from __future__ import annotations

from msgspec.structs import replace

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document
from tinygram_bench.report.loads import loads_document
from tinygram_bench.report.loads.tables import (
    SHOWN_RECORDS,
    SHOWN_THROUGHPUT,
    LoadTable,
    shown_interval,
    shown_median,
    shown_tail,
)
from tinygram_bench.report.prose import pace
from tinygram_bench.report.published.stream import published_tables
from tinygram_bench.statistics.workloads.loads import Load

CPU = (
    "CPU is the sender's, its wake-ups for pacing and the receive work that the kernel does in its "
    "system calls included."
)
THROUGHPUT = LoadTable(
    "Throughput",
    (
        *SHOWN_THROUGHPUT,
        shown_median("run\ntime s", "run_time_s", 6),
        shown_median("messages\n/write", "messages_per_write", 1),
        shown_median("bytes\n/read", "bytes_per_read", 4),
        shown_median("hold\nµs\np50", "hold_p50_us", 3),
        shown_median("hold\nµs\np99", "hold_p99_us", 5),
        shown_median("sender\nCPU\ns/M", "cpu_s_per_million", 3),
    ),
    compares="by ratio",
)
THROUGHPUT_IN_TURNS = replace(
    THROUGHPUT, shown=tuple(each for each in THROUGHPUT.shown if each.figure != "run_time_s")
)
"""A case that takes turns ends with its slices, and has no run time of its own."""
QUEUEING = LoadTable(
    "Queue length, not latency: hand-over to receipt, flat out (µs)",
    shown_tail("queueing"),
    is_detail=True,
)
FROM_CALL = LoadTable(
    "From the call of send, however late it came: hand-over to receipt (µs)", shown_tail("queueing")
)
TLS = LoadTable(
    "TLS records, and what they take on the wire",
    (
        *SHOWN_RECORDS,
        shown_median("sender\nCPU\ns/M", "cpu_s_per_million", 2),
        shown_median("receiver\nCPU\ns/M", "receiver_cpu_s_per_million", 3),
        shown_median("receiver\nCPU\nshare", "receiver_cpu_share", 1),
    ),
)
LATENCY = (
    shown_median("min", "latency_min_us", 10),
    shown_median("mean", "latency_mean_us", 11),
    shown_median("p50", "latency_p50_us", 0),
    shown_interval("latency_p50_us", 2),
    shown_median("p99", "latency_p99_us", 0),
    shown_interval("latency_p99_us", 3),
    shown_median("p99.9", "latency_p99_9_us", 8),
    shown_median("p99.99", "latency_p99_99_us", 0),
    shown_median("max", "latency_max_us", 0),
    shown_median("pacing\nerror\np50", "pacing_error_p50_us", 9),
    shown_median("pacing\nerror\np99", "pacing_error_p99_us", 5),
    shown_median("hold\np50", "hold_p50_us", 4),
    shown_median("hold\np99", "hold_p99_us", 7),
    shown_median("messages\n/write", "messages_per_write", 6),
    shown_median("sender\nCPU\ns/M", "cpu_s_per_million", 1),
)


def stream_document(result: Result, published: bool) -> Document:
    return loads_document(result, _tables_of, published_tables if published else None, CPU)


def _tables_of(load: Load) -> tuple[LoadTable, ...]:
    of_tls = (TLS,) if load.tls else ()
    if load.is_flat_out:
        return THROUGHPUT if load.slice_ns is None else THROUGHPUT_IN_TURNS, *of_tls, QUEUEING
    title = f"Latency from the intended send time {pace(load)} (µs)"
    paced = LoadTable(title, LATENCY, compares="by marks")
    return (paced, *of_tls, FROM_CALL) if load.producers > 1 else (paced, *of_tls)
