"""The far end, `tg-server`: listens, says where, and answers.

For each `ServerOrder` (order.py) it ends after that many samples, having compared every byte, and
answers its counters.
"""

from __future__ import annotations

import sys

from tinygram_bench import _native
from tinygram_bench.processes.orders import Orders, carry_out
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
        order.client_host,
    )
    orders.announce(server.port)
    orders.say(dict(server.serve(order.samples)))


if __name__ == "__main__":
    sys.exit(main())
