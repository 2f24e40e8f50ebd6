"""The messages of a sender's order, and when each is handed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygram_bench import _native
from tinygram_bench.loads.openings import Openings
from tinygram_bench.loads.planted import PlantedSource
from tinygram_bench.loads.source import Share, Source
from tinygram_bench.workloads.stream.order import Order
from tinygram_bench.workloads.stream.sending.pacing import pacer_of


def source_of(
    order: Order,
    pool: _native.MessagePool,
    has_settled: Callable[[], bool],
    on_start: Callable[[], int | None],
    hold_ns: int,
    push_out_fd: int | None,
) -> Source:
    """The source of the order's messages, with its planted difference if it has one.

    `has_settled`, `on_start`, `hold_ns`: see `Source`. `push_out_fd`: the connection's descriptor
    where the pacer makes leave what Nagle's algorithm withholds; None: it does not.
    """
    is_shared = order.producers > 1
    options: dict[str, Any] = {
        "warm_up": order.warm_up,
        "count": order.messages,
        "pacer": None if is_shared else pacer_of(order, push_out_fd=push_out_fd),
        "has_settled": has_settled,
        "on_start": on_start,
        "hold_ns": hold_ns,
        "shares": _shares(order, pool),
        "flat_out_burst": order.flat_out_burst,
        "openings": None if is_shared else _openings(order),
        "over_ns": 0 if order.slices is None else order.slices.over_ns,
    }
    if order.spin_ns or order.sleep_ns:
        return PlantedSource(pool, spin_ns=order.spin_ns, sleep_ns=order.sleep_ns, **options)
    return Source(pool, **options)


def _openings(order: Order) -> Openings | None:
    """When messages are handed over flat out in slices; otherwise None."""
    if order.slices is None or not order.ends_with_slices:
        return None
    return Openings(order.slices.begins_ns, order.slices.open_ns)


def _shares(order: Order, pool: _native.MessagePool) -> list[Share]:
    """Each producer's messages; empty where there is only one producer."""
    if order.producers == 1:
        return []
    messages = pool.messages()
    end, step = order.warm_up + order.messages, order.producers
    return [
        Share(
            *(messages, order.warm_up + offset, step, end),
            pacer_of(order, (offset, step)),
            _openings(order),
        )
        for offset in range(min(order.producers, order.messages))
    ]
