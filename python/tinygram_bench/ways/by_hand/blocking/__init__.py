"""The strategies on a blocking socket: `send(sock, bursts, way)`, one file each."""

from __future__ import annotations

import socket
from collections.abc import Callable

from tinygram_bench.loads.source import Bursts
from tinygram_bench.ways.by_hand.blocking import coalesce, cork, more, per_message
from tinygram_bench.ways.runtimes import Way

STRATEGIES: dict[str, Callable[[socket.socket, Bursts, Way], None]] = {
    "nagle": per_message.send_with_nagle,
    "nodelay": per_message.send,
    "coalesce": coalesce.send,
    "cork": cork.send,
    "more": more.send,
}
