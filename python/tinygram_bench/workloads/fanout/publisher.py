"""The process of a publisher under test, `tg-publisher`.

For each `PublisherOrder` it connects, warms up, answers `Warm`, takes a `Begin`, publishes in
slices, answers `Ready`, takes a `Go`, ends its connections, and answers a `Report` (order.py).
"""

from __future__ import annotations

from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.orders import Orders, carry_out
from tinygram_bench.workloads.fanout.job import Job
from tinygram_bench.workloads.fanout.order import PublisherOrder
from tinygram_bench.workloads.fanout.publishing import publisher


def main() -> int:
    raise_descriptor_limit()
    return carry_out("tg-publisher", PublisherOrder, _publish)


def _publish(order: PublisherOrder, orders: Orders) -> None:
    publish = publisher(order.runtime, order.implementation, order.server).load()
    job = Job(order, orders)
    publish(job)
    orders.say(job.report())
