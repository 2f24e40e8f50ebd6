"""What each slice of a stream says: the values that comparisons are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tinygram_bench import _native
from tinygram_bench.run.slices import GAP_NS, Used
from tinygram_bench.workloads.stream.order import Heard, Order, Report

_BLOCK_MESSAGES = {"latency_p99_us": 500, "latency_p99_9_us": 5_000}
"""A percentile is taken of blocks: slices in a row that have so many messages together."""
_SHARES = {"latency_p99_us": 0.99, "latency_p99_9_us": 0.999}


@dataclass(frozen=True)
class Found:
    """All latencies, figure → its value in each slice or block of slices, and counters."""

    latency: _native.Histogram
    figures: dict[str, tuple[float | None, ...]]
    counters: dict[str, int | None]


def sliced(
    order: Order, report: Report, pool: _native.MessagePool, heard: Heard, used: Used
) -> Found:
    """What the slices of a paced stream say. Raises ValueError where the notes do not match."""
    pace, slices = order.pace, order.slices
    assert pace is not None, "only paced streams take turns"
    assert slices is not None, "it took turns"
    latency, latencies_ns, late_ns = _native.match_sliced(
        heard.notes,
        pool,
        order.warm_up,
        report.start_ns,
        pace.rate_per_s,
        pace.arrival,
        pace.burst,
        pace.duration_ns,
        pace.seed,
        slices.native,
        None if order.producers == 1 else heard.turns,
    )
    messages = [len(each) for each in latencies_ns]
    found: dict[str, tuple[float | None, ...]] = {
        "latency_p50_us": tuple(median(each) / 1e3 if each else None for each in latencies_ns),
        "cpu_s_per_million": tuple(
            None if used_ns is None or not count else (used_ns - spun) / 1e3 / count
            for used_ns, spun, count in zip(
                used.by_slice, report.spin_cpu_ns_by_slice, messages, strict=True
            )
        ),
    }
    # By the rate, and not by what came: every case of the load has the same blocks.
    per_slice = pace.rate_per_s * (slices.slice_ns - slices.settling_ns) / 1e9
    for figure, least in _BLOCK_MESSAGES.items():
        length = max(1, round(least / per_slice))
        blocks = [
            [ns for each in latencies_ns[first : first + length] for ns in each]
            for first in range(0, len(latencies_ns) - length + 1, length)
        ]
        found[figure] = tuple(_percentile_us(block, _SHARES[figure]) for block in blocks)
    counters = {
        "slices": len(latencies_ns),
        "slices_overrun": sum(each > GAP_NS for each in late_ns),
        "resting_cpu_ns": used.resting,
    }
    return Found(latency, found, counters)


def _percentile_us(latencies_ns: Sequence[int], share: float) -> float | None:
    """The nearest-rank percentile; None where nothing came."""
    if not latencies_ns:
        return None
    rank = min(len(latencies_ns) - 1, int(share * len(latencies_ns)))
    return sorted(latencies_ns)[rank] / 1e3
