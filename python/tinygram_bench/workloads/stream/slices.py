"""What each slice of a stream says: the values that comparisons are made of."""

from __future__ import annotations

from dataclasses import dataclass

from tinygram_bench import _native
from tinygram_bench.run.sliced import Values, counters_of, percentiles_us
from tinygram_bench.run.slices import Used
from tinygram_bench.workloads.stream.order import Heard, Order, Report


@dataclass(frozen=True)
class Found:
    """All latencies, figure → its value in each slice or block of slices, and counters."""

    latency: _native.Histogram
    figures: dict[str, Values]
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
    # By the rate, and not by what came: every case of the load has the same blocks.
    per_slice = pace.rate_per_s * (slices.slice_ns - slices.settling_ns) / 1e9
    found = percentiles_us("latency", latencies_ns, per_slice) | {
        "cpu_s_per_million": tuple(
            None if used_ns is None or not count else (used_ns - spun) / 1e3 / count
            for used_ns, spun, count in zip(
                used.by_slice, report.spin_cpu_ns_by_slice, messages, strict=True
            )
        ),
    }
    return Found(latency, found, counters_of(late_ns, used))
