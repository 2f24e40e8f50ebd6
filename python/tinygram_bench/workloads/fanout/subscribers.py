"""The process of all subscribers, `tg-subscribers`: native, on one thread.

For each `SubscribersOrder` it listens and answers its port, accepts all connections, receives the
warm-up, answers `Ready`, takes a `Begin`, receives until the publisher ends the connections, and
answers what it has `Heard` (order.py).
"""

from __future__ import annotations

import time

from tinygram_bench import _native
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.orders import Orders, Ready, carry_out
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
    slices = begin.slices
    give_up_ns = max(begin.at_ns + begin.give_up_ns, time.monotonic_ns())
    counters = dict(subscribers.receive(slices.native, slices.open_ns, begin.at_ns, give_up_ns))
    orders.say(heard(subscribers, counters, order.subscribers, slices))
