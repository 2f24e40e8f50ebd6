"""The pacers of a sender's messages, and how late they were with them."""

from __future__ import annotations

from itertools import chain

from tinygram_bench import _native
from tinygram_bench.loads.source import Source
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.order import Order


def pacer_of(
    order: Order, share: tuple[int, int] | None = None, push_out_fd: int | None = None
) -> _native.Pacer | None:
    """The pacer of all messages, or of a producer's share of them; None: they are flat out.

    `share`: the first of its messages, and how many there are from one to the next one.
    """
    pace, slices = order.pace, order.slices
    if pace is None:
        return None
    return _native.Pacer(
        pace.rate_per_s,
        pace.arrival,
        pace.burst,
        pace.duration_ns,
        pace.seed,
        share,
        spin_of(order),
        None if slices is None else slices.native,
        push_out_fd,
    )


def spin_of(order: Order) -> str:
    """How the pacer spins (`Pacer`), so that it takes no core from the sending thread.

    Beside a thread that never rests the pacer sleeps: a thread that wakes up runs before a busy
    one, and a thread that spins does not.
    """
    if order.pace is not None and order.pace.sleeps:
        return "noted"
    if order.has_busy_thread:
        return "never"
    return "yielding" if order.runtime in runtimes.HANDING_OVER else "alone"


def pacing_counters(source: Source) -> dict[str, int]:
    """The counters of the pacers together; empty flat out."""
    pacers = source.pacers()
    if not pacers:
        return {}
    return {
        "pacer_spin_cpu_ns": sum(pacer.spin_cpu_ns for pacer in pacers),
        "releases": sum(pacer.releases for pacer in pacers),
        "last_due_ns": max(pacer.last_due_ns for pacer in pacers),
    }


def pacing_errors(source: Source) -> _native.Histogram | None:
    """How late messages were handed over, of all pacers together, in ns; None flat out."""
    pacers = source.pacers()
    if not pacers:
        return None
    errors = pacers[0].errors()
    for pacer in pacers[1:]:
        errors.merge(pacer.errors())
    return errors


def late_ns(source: Source) -> tuple[int, ...]:
    """How late each message was released, in the order of the schedule."""
    of_each = [pacer.late_ns() for pacer in source.pacers()]
    found = [0] * sum(map(len, of_each))
    if found:
        for first, of_one in enumerate(of_each):
            found[first :: len(of_each)] = of_one
    return tuple(found)


def spun_by_slice(source: Source) -> tuple[int, ...]:
    """The CPU time, in ns, that the pacers spun in each slice; empty without slices."""
    of_each = [pacer.spin_cpu_ns_by_slice() for pacer in source.pacers()]
    return tuple(map(sum, zip(*of_each, strict=True)))


def errors_by_slice_ns(source: Source) -> tuple[tuple[int, ...], ...]:
    """The pacers' errors with the measured messages of each slice; empty without slices."""
    of_each = [pacer.errors_by_slice_ns() for pacer in source.pacers()]
    return tuple(tuple(chain(*of_slice)) for of_slice in zip(*of_each, strict=True))
