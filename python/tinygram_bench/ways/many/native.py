"""The limits, in Rust: a send call for each message, or one call of io_uring for those at hand."""

from __future__ import annotations

import socket

from tinygram_bench import _native
from tinygram_bench.loads.source import Source
from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.ways.runtimes import PATIENCE_NS, Way


def run(_sock: socket.socket, source: Source, way: Way) -> None:
    """Send everything. Raises OSError."""
    fds = [sock.fileno() for sock in way.sockets]
    is_ring = way.implementation == IO_URING
    sender = _native.ManyConnections(fds, is_ring, source.pool, PATIENCE_NS)
    if is_ring:
        # The library that counts writes sees only send calls.
        way.own_calls = sender.calls
    first, last = source.measured
    sender.send_flat_out(0, first)
    pacer = source.wait_started()
    if pacer is not None:
        sender.send_paced(first, pacer)
    elif source.openings is not None:
        found = sender.send_in_slices(first, last, source.openings.native, source.start_ns or 0)
        source.hand_overs_ns.extend(found[0])
        source.skip(found[1])
    else:
        source.hand_overs_ns.extend(sender.send_flat_out(first, last))
    source.rest()
    way.on_handed_over()
    for sock in way.sockets:
        # The ring has references of its own, which would delay the end.
        sock.shutdown(socket.SHUT_WR)
        sock.close()
