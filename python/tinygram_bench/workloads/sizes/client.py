"""The measuring process, `tg-client`: it takes an order's samples, and reports on each cell."""

from __future__ import annotations

import gc
from collections.abc import Iterable

from tinygram_bench import _native
from tinygram_bench.processes.orders import Orders, carry_out
from tinygram_bench.workloads.sizes.order import Order, Report


def main() -> int:
    return carry_out("tg-client", Order, _take)


def _take(order: Order, orders: Orders) -> None:
    gc.collect()
    gc.freeze()
    orders.say([_local(order)] if order.part is not None else _samples(order))


def _local(order: Order) -> Report:
    part = "two-threads" if order.far_cpu is not None else str(order.part)
    taken = _native.time_local(part, order.first_samples, order.samples, order.far_cpu)
    return Report({"samples": order.samples}, {"part_ns": taken.to_base64()}, start_ns=0)


def _samples(order: Order) -> list[Report]:
    found = _native.take_samples(
        [
            (
                cell.address,
                cell.message_bytes,
                cell.round_trips,
                cell.is_setup_joined,
                cell.strategy == "nodelay",
            )
            for cell in order.cells
        ],
        order.congestion_control,
        order.seed,
        order.order_seed,
        order.timeout_ns,
        order.first_samples,
        order.samples,
        order.client.admission,
    )
    return [_report(order.samples, *each) for each in found]


def _report(
    samples: int,
    named: Iterable[tuple[str, int]],
    histograms: Iterable[tuple[str, _native.Histogram]],
    totals_ns: Iterable[int],
    failure: str | None,
) -> Report:
    if failure is not None:
        return Report({}, {}, start_ns=0, failure=failure)
    counters = dict(named)
    start_ns = counters.pop("start_ns")
    return Report(
        {"samples": samples, **counters},
        {name: histogram.to_base64() for name, histogram in histograms},
        start_ns,
        tuple(total_ns / 1e3 for total_ns in totals_ns),
    )
