"""Hold messages until a time has passed or enough have gathered, then send them as one."""

from __future__ import annotations

import socket
from time import monotonic_ns

from tinygram_bench.loads.source import Bursts
from tinygram_bench.ways.runtimes import MAX_BATCH_BYTES, Way


def send(sock: socket.socket, bursts: Bursts, way: Way) -> None:
    """Strategy `coalesce`: the wait for more messages ends when the batch's hold does."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hold_ns = way.strategy.hold_ns or 0
    batch: list[bytes] = []
    batch_bytes = 0
    deadline_ns: int | None = None

    def flush() -> None:
        nonlocal batch_bytes, deadline_ns
        if deadline_ns is not None:
            way.holds_ns.append(monotonic_ns() - deadline_ns + hold_ns)
            sock.sendall(b"".join(batch))
            batch.clear()
            batch_bytes = 0
            deadline_ns = None

    while (burst := bursts.next_burst(deadline_ns)) is not None:
        for message in burst:
            if deadline_ns is None:
                deadline_ns = monotonic_ns() + hold_ns
            batch.append(message)
            batch_bytes += len(message)
            if batch_bytes >= MAX_BATCH_BYTES or monotonic_ns() >= deadline_ns:
                flush()
        if deadline_ns is not None and monotonic_ns() >= deadline_ns:
            flush()
    flush()
