"""The measuring process, `tg-client`: takes the samples that an `Order` tells of, and reports."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable

from tinygram_bench import _native
from tinygram_bench.processes.orders import Orders, carry_out
from tinygram_bench.workloads.sizes.order import Order, Report


def main() -> int:
    return carry_out("tg-client", Order, _take)


def _take(order: Order, orders: Orders) -> None:
    gc.collect()
    gc.freeze()
    orders.say(_local(order) if order.part is not None else _samples(order))


def _local(order: Order) -> Report:
    part = "two-threads" if order.far_cpu is not None else str(order.part)
    taken = _native.time_local(part, order.first_samples, order.samples, order.far_cpu)
    return Report({"samples": order.samples}, {"part_ns": taken.to_base64()}, start_ns=0)


def _samples(order: Order) -> Report:
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
    return Report({"samples": order.samples, **counters}, _stored(histograms), start_ns)


def _stored(histograms: Iterable[tuple[str, _native.Histogram]]) -> dict[str, str]:
    return {name: histogram.to_base64() for name, histogram in histograms}


if __name__ == "__main__":
    sys.exit(main())
