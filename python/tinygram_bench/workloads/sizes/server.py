"""The far end, `tg-server`: it listens, tells its ports, answers until told to end, and counts.

For each `ServerOrder` (order.py) it announces a port for each case, takes an `End`, and answers the
counters of each port, its CPU time among them. Every byte is compared.
"""

from __future__ import annotations

from tinygram_bench import _native
from tinygram_bench.processes.orders import End, Orders, carry_out
from tinygram_bench.workloads.sizes.order import ServerOrder

MAX_MESSAGE_BYTES = 64 << 20
"""The default limit of a message."""
MAX_MESSAGES = 10_000
"""The most messages of a connection."""
MAX_CONNECTIONS = 512
"""The most connections at a time: a process may usually have 1,024 descriptors."""


def main() -> int:
    return carry_out("tg-server", ServerOrder, _serve, (ValueError,))


def _serve(order: ServerOrder, orders: Orders) -> None:
    server = _native.SizesServer(
        0,
        MAX_MESSAGE_BYTES,
        MAX_MESSAGES,
        MAX_CONNECTIONS,
        order.congestion_control,
        (order.seed, order.sample_bytes),
        order.host,
        order.client.admission,
        order.ports,
    )
    for port in server.ports:
        orders.announce(port)
    server.serve(stop_fd=orders.fileno())
    if orders.hear(End) is not None:
        orders.say([dict(counters) for counters in server.counters_by_port()])
