"""The limits, in Rust: the most that this machine can send."""

from __future__ import annotations

import socket

from tinygram_bench import _native
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.runtimes import MAX_BATCH_BYTES, Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything: a write per message (`nagle`, `nodelay`) or per 64 KiB (`tick`)."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, way.strategy.name != "nagle")
    max_bytes = MAX_BATCH_BYTES if way.strategy.name == "tick" else None
    first, last = source.measured
    _native.send_flat_out(sock.fileno(), source.pool, 0, first, max_bytes)
    pacer = source.wait_started()
    if pacer is None and source.openings is not None:
        table, start_ns = source.openings.native, source.start_ns or 0
        hand_overs, sent = _native.send_in_slices(
            sock.fileno(), source.pool, first, last, table, start_ns, max_bytes
        )
        source.hand_overs_ns.extend(hand_overs)
        source.skip(sent)
    elif pacer is None:
        hand_overs = _native.send_flat_out(sock.fileno(), source.pool, first, last, max_bytes)
        source.hand_overs_ns.extend(hand_overs)
    else:
        _native.send_paced(sock.fileno(), source.pool, first, pacer, max_bytes)
    source.rest()
