"""What each slice of a fan-out says: the values that comparisons are made of."""

from __future__ import annotations

from tinygram_bench import _native
from tinygram_bench.runs.slice_figures import Values, late_us, percentiles_us
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.workloads.fanout.order import Heard

LEAST_PUBLICATIONS = 4
"""The fewest publications in a slice, by which the blocks of rare percentiles are made."""


def heard(
    subscribers: _native.Subscribers, counters: dict[str, int], count: int, slices: Slices
) -> Heard:
    """What `count` subscribers have heard; adding this up takes a while."""
    messages, all_messages, last_ns = zip(*subscribers.slices(), strict=True)
    of_slices = [
        (memoryview(latencies).cast("I"), memoryview(lasts).cast("I"))
        for latencies, lasts in subscribers.latencies_of_slices()
    ]
    latencies, lasts = zip(*of_slices, strict=True)
    # Publications of the settling part are not measured.
    least = LEAST_PUBLICATIONS * (1 - slices.settling_ns / slices.slice_ns)
    return Heard(
        counters,
        {
            "latency_ns": subscribers.latencies().to_base64(),
            "last_ns": subscribers.lasts().to_base64(),
        },
        messages,
        all_messages,
        last_ns,
        percentiles_us("latency", latencies, least * count) | percentiles_us("last", lasts, least),
    )


def figures_of(found: Heard, slices: Slices, used: Used, start_ns: int) -> dict[str, Values]:
    """Figure → its values; None where nothing came, or CPU time is not known."""
    middle_ns = slices.open_ns - slices.settling_ns
    ends_ns = (start_ns + begin_ns + slices.slice_ns for begin_ns in slices.begins_ns)
    return (
        found.figures
        | {
            "throughput_per_s": tuple(messages / middle_ns * 1e9 for messages in found.messages),
            "cpu_s_per_million": tuple(
                None if used_ns is None or not messages else used_ns / 1e3 / messages
                for used_ns, messages in zip(used.by_whole_slice, found.all_messages, strict=True)
            ),
        }
        | late_us([last - end for last, end in zip(found.last_ns, ends_ns, strict=True)])
    )


def middles(found: Heard, slices: Slices) -> dict[str, int]:
    """The counters of the middles of slices."""
    return {
        "middle_messages": sum(found.messages),
        "middle_ns": (slices.open_ns - slices.settling_ns) * len(slices.begins_ns),
    }
