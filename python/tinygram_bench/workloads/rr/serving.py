"""The servers: the native one, and those on event loops (loop_serving.py).

Only the native one bounds what a hostile client costs; the others serve the bench's own callers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from tinygram_bench._native import CallContent, RrServer
from tinygram_bench.ways.rows import Row
from tinygram_bench.workloads.rr.order import ServerOrder


class Server(Row, Struct, frozen=True):
    """A row of SERVERS. `has_tls`: whether it can encrypt."""

    strategies: tuple[str, ...] = ("nagle", "nodelay")
    requires: tuple[str, ...] = ()
    has_tls: bool = False


SERVERS = {
    "native": Server(),
    "asyncio": Server(has_tls=True),
    "uvloop": Server(requires=("uvloop",), has_tls=True),
}
"""The runtime of a server → what it can do."""
MAX_CONNECTIONS = 4096
_IDLE_NS = 24 * 3_600_000_000_000
"""Longer than a run: callers rest while others have turns, and at a low rate between calls."""


def serve(
    order: ServerOrder, content: CallContent, stop_fd: int, announce: Callable[[int], None]
) -> Mapping[str, int]:
    """Listen, tell the port, and serve until `stop_fd` is readable; return named counters.

    Raises OSError.
    """
    if order.runtime != "native":
        from tinygram_bench.workloads.rr.loop_serving import serve_on_loop

        return serve_on_loop(order, content, stop_fd, announce)
    server = RrServer(
        content,
        port=0,
        backlog=order.backlog,
        is_nodelay=order.strategy == "nodelay",
        is_quickack=order.has_quickack,
        congestion_control=order.congestion_control,
        # Connections that have ended at the peer may still be open here when new ones come.
        max_connections=max(MAX_CONNECTIONS, 2 * order.connections),
        idle_ns=_IDLE_NS,
        host=order.host,
        client=order.client.admission,
    )
    announce(server.port)
    return dict(server.run(stop_fd))


def longest_backlog() -> int:
    """The limit of this network: listen(2) silently shortens a longer one."""
    return int(Path("/proc/sys/net/core/somaxconn").read_text())
