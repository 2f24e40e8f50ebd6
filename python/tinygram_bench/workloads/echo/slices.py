"""What each slice of an echo says: the values that comparisons are made of."""

from __future__ import annotations

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.runs.slice_figures import (
    Values,
    counters_of,
    cpu_us_of_one,
    late_after_us,
    percentiles_us,
)
from tinygram_bench.runs.slices import LEAST_MESSAGES, Slices, Used
from tinygram_bench.workloads.echo.order import ClientOrder, InSlices

_SLOW_PER_S = 10_000
"""The messages per second of nearly any server, by which the blocks of rare percentiles are
made."""


class Sliced(Struct, frozen=True):
    """What is known of a run in slices beside the client's report.

    `used`: the server's CPU time. `start_ns`: when the first cycle began.
    """

    used: Used
    start_ns: int


def found_in_slices(client: _native.EchoClient, order: ClientOrder) -> InSlices:
    """What the client has found; adding this up takes a while."""
    messages, time_ns, all_messages, last_ns = zip(*client.slices(), strict=True)
    trips_ns = [memoryview(trips).cast("Q") for trips in client.round_trips_of_slices()]
    assert order.slices is not None, "it took turns"
    per_slice = _per_slice(order, order.slices)
    return InSlices(
        messages,
        time_ns,
        all_messages,
        last_ns,
        percentiles_us("round_trip", trips_ns, per_slice),
    )


def _per_slice(order: ClientOrder, slices: Slices) -> float:
    """How many round trips a slice has, or has at least; the same for all cases of the load."""
    if order.pace is not None:
        return max(1.0, order.pace.rate_per_s * slices.measured_ns / 1e9)
    # This fits the shortest slice that the link permits, and a slow server.
    measured_s = (slices.open_ns - slices.settling_ns) / 1e9
    return min(LEAST_MESSAGES * order.workers * order.depth, _SLOW_PER_S * measured_s)


def figures_of(found: InSlices, slices: Slices, sliced: Sliced) -> dict[str, Values]:
    """Figure → its values; None where nothing came back, or CPU time is not known."""
    return (
        found.figures
        | {
            "throughput_per_s": tuple(
                messages / time_ns * 1e9 if time_ns else None
                for messages, time_ns in zip(found.messages, found.time_ns, strict=True)
            ),
            "cpu_s_per_million": cpu_us_of_one(sliced.used, found.all_messages),
        }
        | late_after_us(found.last_ns, sliced.start_ns, slices)
    )


def slice_counters(found: InSlices, sliced: Sliced) -> dict[str, int | None]:
    """The counters of a run in slices."""
    return counters_of(sliced.used) | {"middle_ns": sum(found.time_ns)}
