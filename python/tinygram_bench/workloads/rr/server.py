"""The server's process, `tg-server`: it listens, tells its port, serves until its end, and counts.

For each `ServerOrder` it answers its port, takes an `End`, and answers its counters.
"""

from __future__ import annotations

from tinygram_bench import _native
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.orders import End, Orders, carry_out
from tinygram_bench.workloads.rr import serving
from tinygram_bench.workloads.rr.order import ServerOrder


def main() -> int:
    return carry_out("tg-server", ServerOrder, _serve)


def _serve(order: ServerOrder, orders: Orders) -> None:
    raise_descriptor_limit()
    content = _native.CallContent(order.request_bytes, order.reply_bytes, order.seed)
    certificate = None if order.tls is None else order.tls.certificate
    counters = serving.serve(
        order, content, orders.fileno(), lambda port: orders.announce(port, certificate)
    )
    if orders.hear(End) is not None:
        orders.say(counters)
