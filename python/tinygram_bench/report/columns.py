"""The columns of the tables: what each is called, shows, and how soon it gives way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinygram_bench.model.result import Summary
from tinygram_bench.report.formats import interval, median, rate, rate_interval
from tinygram_bench.report.layout import Column


@dataclass(frozen=True)
class Shown:
    """A column, the figure that it shows, and how its cell comes from a summary."""

    column: Column
    figure: str
    text: Callable[[Summary], str]


def _median(header: str, figure: str, give_way: int) -> Shown:
    return Shown(
        Column(header, give_way), figure, lambda summary: median(summary.figures.get(figure))
    )


def _interval(figure: str, give_way: int) -> Shown:
    return Shown(
        Column("low–high", give_way), figure, lambda summary: interval(summary.figures.get(figure))
    )


def _throughput_median(summary: Summary) -> str:
    figure = summary.figures.get("throughput_per_s")
    return rate(None if figure is None else figure.median)


def _throughput_interval(summary: Summary) -> str:
    return rate_interval(summary.figures.get("throughput_per_s"))


THROUGHPUT = (
    Shown(Column("messages\n/s"), "throughput_per_s", _throughput_median),
    Shown(Column("low–high", 2), "throughput_per_s", _throughput_interval),
    _median("run\ntime s", "run_time_s", 6),
    _median("messages\n/write", "messages_per_write", 1),
    _median("bytes\n/read", "bytes_per_read", 4),
    _median("hold\nµs\np50", "hold_p50_us", 3),
    _median("hold\nµs\np99", "hold_p99_us", 5),
    _median("sender\nCPU\ns/M", "cpu_s_per_million", 3),
)
QUEUEING = (
    _median("min", "queueing_min_us", 4),
    _median("mean", "queueing_mean_us", 3),
    _median("p50", "queueing_p50_us", 0),
    _median("p99", "queueing_p99_us", 0),
    _median("p99.99", "queueing_p99_99_us", 1),
    _median("max", "queueing_max_us", 2),
)
PACED = (
    _median("min", "latency_min_us", 10),
    _median("mean", "latency_mean_us", 11),
    _median("p50", "latency_p50_us", 0),
    _interval("latency_p50_us", 2),
    _median("p99", "latency_p99_us", 0),
    _interval("latency_p99_us", 3),
    _median("p99.9", "latency_p99_9_us", 8),
    _median("p99.99", "latency_p99_99_us", 0),
    _median("max", "latency_max_us", 0),
    _median("pacing\nerror\np50", "pacing_error_p50_us", 9),
    _median("pacing\nerror\np99", "pacing_error_p99_us", 5),
    _median("hold\np50", "hold_p50_us", 4),
    _median("hold\np99", "hold_p99_us", 7),
    _median("messages\n/write", "messages_per_write", 6),
    _median("sender\nCPU\ns/M", "cpu_s_per_million", 1),
)
ECHO = (
    Shown(Column("messages\n/s"), "throughput_per_s", _throughput_median),
    Shown(Column("low–high", 2), "throughput_per_s", _throughput_interval),
    _median("MB/s\nboth\nways", "both_ways_mb_per_s", 3),
    _median("messages\n/write", "messages_per_write", 1),
    _median("server\nCPU\ns/M", "cpu_s_per_million", 0),
    _median("in\nflight", "in_flight", 5),
    _median("client\nbusy", "client_cpu_share", 4),
)
ROUND_TRIP = (
    _median("min", "round_trip_min_us", 4),
    _median("mean", "round_trip_mean_us", 3),
    _median("p50", "round_trip_p50_us", 0),
    _median("p99", "round_trip_p99_us", 0),
    _median("p99.99", "round_trip_p99_99_us", 1),
    _median("max", "round_trip_max_us", 2),
)
