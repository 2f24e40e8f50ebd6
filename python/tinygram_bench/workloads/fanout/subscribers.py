"""The process of all subscribers, `tg-subscribers`: native, on one thread.

For each `SubscribersOrder` it listens and answers its port, accepts all connections, receives the
warm-up, answers `Ready`, takes a `Begin`, receives until the publisher ends the connections, leaves
what it has `Heard` (order.py) in a file, and answers `End`.
"""

from __future__ import annotations

import time

import msgspec

from tinygram_bench import _native
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.orders import End, Orders, Ready, carry_out, leave
from tinygram_bench.workloads.fanout.order import WARM_UP, Begin, SubscribersOrder
from tinygram_bench.workloads.fanout.slices import heard


def main() -> int:
    raise_descriptor_limit()
    return carry_out("tg-subscribers", SubscribersOrder, _receive)


def _receive(order: SubscribersOrder, orders: Orders) -> None:
    publications = _native.Publications(order.seed, order.message_bytes)
    publisher = order.client.admission
    subscribers = _native.Subscribers(publications, order.congestion_control, order.host, publisher)
    orders.announce(subscribers.port)
    subscribers.warm_up(order.subscribers, WARM_UP, order.timeout_ns)
    orders.say(Ready())
    begin = orders.hear(Begin)
    if begin is None:
        return
    slices, known = begin.slices, begin.difference
    begins_ns = begin.at_ns if known is None else known.far_ns(begin.at_ns)
    first_ns = begins_ns + slices.begins_ns[0] + slices.settling_ns
    if known is not None and time.monotonic_ns() > first_ns:
        raise OSError("the subscribers were told too late of the start: what came had to wait")
    counted = subscribers.receive(
        slices.native,
        slices.open_ns,
        begin.at_ns,
        max(begins_ns + begin.give_up_ns, time.monotonic_ns()),
        None if known is None else known.native,
    )
    found = heard(subscribers, dict(counted), order.subscribers, begin)
    leave(order.report_fd, msgspec.json.encode(found))
    orders.say(End())
