"""What each slice of a fan-out says: the values that comparisons are made of."""

from __future__ import annotations

import msgspec

from tinygram_bench import _native
from tinygram_bench._native import Histogram
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slice_figures import Values, cpu_us_of_one, late_after_us, percentiles_us
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.workloads.fanout.order import Begin, Heard

HISTOGRAMS = ("latency_ns", "last_ns")
"""How long after they were due all measured messages came, and the last one of each publication."""
_COUNTERS = {
    *("reads", "bytes", "publications", "strangers", "early_ns", "receiver_cpu_ns"),
    *("receiver_voluntary_context_switches", "receiver_involuntary_context_switches"),
}
_OF_EACH = ("_p50_us", "_max_us")
"""How the names of figures end that each slice has; others are of blocks of slices."""
_FIGURES = {
    f"{name}_{percentile}_us"
    for name in ("latency", "last")
    for percentile in ("p50", "p99", "p99_9", "max")
}
LEAST_PUBLICATIONS = 4
"""The fewest publications in a slice, by which the blocks of rare percentiles are made."""


def heard(
    subscribers: _native.Subscribers, counters: dict[str, int], count: int, begin: Begin
) -> Heard:
    """What `count` subscribers have heard; adding this up takes a while."""
    messages, all_messages, last_ns = zip(*subscribers.slices(), strict=True)
    histograms = (subscribers.latencies().to_base64(), subscribers.lasts().to_base64())
    return Heard(
        counters,
        dict(zip(HISTOGRAMS, histograms, strict=True)),
        messages,
        all_messages,
        last_ns,
        {} if begin.is_alone else _percentiles(subscribers, count, begin.slices),
    )


def _percentiles(subscribers: _native.Subscribers, count: int, slices: Slices) -> dict[str, Values]:
    of_slices = [
        (memoryview(latencies).cast("I"), memoryview(lasts).cast("I"))
        for latencies, lasts in subscribers.latencies_of_slices()
    ]
    latencies, lasts = zip(*of_slices, strict=True)
    # Publications of the settling part are not measured.
    least = LEAST_PUBLICATIONS * (1 - slices.settling_ns / slices.slice_ns)
    return percentiles_us("latency", latencies, least * count) | percentiles_us(
        "last", lasts, least
    )


def read_heard(data: bytes, begin: Begin) -> Heard:
    """What subscribers left, maybe those of another host. Raises RunError where it is not that."""
    try:
        found = msgspec.json.decode(data, type=Heard)
        for each in found.histograms.values():
            Histogram.from_base64(each)
    except (ValueError, RecursionError) as error:
        raise RunError(f"what the subscribers heard cannot be read: {error!r}") from error
    counts = {len(each) for each in (found.messages, found.all_messages, found.last_ns)}
    slices = len(begin.slices.begins_ns)
    is_whole = (
        found.histograms.keys() == set(HISTOGRAMS)
        and found.counters.keys() == _COUNTERS
        and found.figures.keys() == (set() if begin.is_alone else _FIGURES)
        and counts == {slices}
        and all(
            len(each) == slices if name.endswith(_OF_EACH) else len(each) <= slices
            for name, each in found.figures.items()
        )
    )
    if not is_whole:
        raise RunError("what the subscribers heard is of other slices, or has other figures")
    return found


def figures_of(found: Heard, slices: Slices, used: Used, start_ns: int) -> dict[str, Values]:
    """Figure → its values; None where nothing came, or CPU time is not known."""
    middle_ns = slices.open_ns - slices.settling_ns
    return (
        found.figures
        | {
            "throughput_per_s": tuple(messages / middle_ns * 1e9 for messages in found.messages),
            "cpu_s_per_million": cpu_us_of_one(used, found.all_messages),
        }
        | late_after_us(found.last_ns, start_ns, slices)
    )


def middles(found: Heard, slices: Slices) -> dict[str, int]:
    """The counters of the middles of slices."""
    return {
        "middle_messages": sum(found.messages),
        "middle_ns": (slices.open_ns - slices.settling_ns) * len(slices.begins_ns),
    }
