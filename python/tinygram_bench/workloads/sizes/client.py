"""The measuring process, `tg-client`: takes the samples that an `Order` on stdin tells of.

It writes a `Report` to stdout; a failure is the last line on stderr and exit status 1.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable

import msgspec

from tinygram_bench import _native
from tinygram_bench.host.probes.kernel import counted_between, counters_here
from tinygram_bench.processes.attached import settle
from tinygram_bench.workloads.sizes.order import Order, Report


def main() -> int:
    """Take them."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    settle("tg-client", order.parent_pid, order.cpu)
    gc.collect()
    gc.freeze()
    try:
        report = _local(order) if order.part is not None else _samples(order)
    except OSError as failure:
        print(failure, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    return 0


def _local(order: Order) -> Report:
    part = "two-threads" if order.far_cpu is not None else str(order.part)
    taken = _native.time_local(part, order.first_samples, order.samples, order.far_cpu)
    return Report({"samples": order.samples}, {"part_ns": taken.to_base64()}, start_ns=0)


def _samples(order: Order) -> Report:
    before = counters_here(order.counter_fds)
    named, histograms = _native.take_samples(
        order.address,
        order.message_bytes,
        order.round_trips,
        order.is_setup_joined,
        order.strategy == "nodelay",
        order.congestion_control,
        order.seed,
        order.timeout_ns,
        order.first_samples,
        order.samples,
        order.own_host,
    )
    counters = dict(named)
    start_ns = counters.pop("start_ns")
    counted: dict[str, int | None] = {"samples": order.samples, **counters}
    # The kernel's own are those of all connections, the first ones too.
    after = counters_here(order.counter_fds)
    counted |= counted_between(before, after)
    return Report(counted, _stored(histograms), start_ns)


def _stored(histograms: Iterable[tuple[str, _native.Histogram]]) -> dict[str, str]:
    return {name: histogram.to_base64() for name, histogram in histograms}


if __name__ == "__main__":
    sys.exit(main())
