"""`tinygram serve sizes`: the native server of `sizes` alone."""

from __future__ import annotations

import sys
from typing import Annotated

from tinygram import _native
from tinygram.bench.cli import quantities
from tinygram.bench.cli.options import CongestionControl, served_congestion_control
from tinygram.bench.cli.stopping import stopped_by_signal
from tinygram.bench.errors import UsageError
from tinygram.bench.units import format_bytes
from tinygram.bench.workloads.sizes.server import MAX_CONNECTIONS, MAX_MESSAGE_BYTES, MAX_MESSAGES

_MOST_BYTES = (1 << 32) - 1


def serve_sizes(
    port: Annotated[int, quantities.count("Port; 0 lets the kernel pick one.", "0")] = 0,
    max_message: Annotated[
        int,
        quantities.size(
            "Size of the longest message that is accepted.",
            format_bytes(MAX_MESSAGE_BYTES),
            _MOST_BYTES,
        ),
    ] = MAX_MESSAGE_BYTES,
    max_messages: Annotated[
        int,
        quantities.count("Most messages that a connection may announce.", str(MAX_MESSAGES)),
    ] = MAX_MESSAGES,
    max_connections: Annotated[
        int,
        quantities.count(
            "Connections at a time; one more ends the one that was silent for longest.",
            str(MAX_CONNECTIONS),
        ),
    ] = MAX_CONNECTIONS,
    congestion_control: CongestionControl = None,
) -> None:
    """Acknowledge messages, for `tinygram sizes --server` or any program that speaks with it.

    The setup is two big-endian u32, length and count; then count × (length bytes, which 4 bytes
    answer: the length, big-endian).
    """
    for option, value, low, high in (
        ("--port", port, 0, (1 << 16) - 1),
        ("--max-messages", max_messages, 0, _MOST_BYTES),
        ("--max-connections", max_connections, 1, 100_000),
    ):
        if not low <= value <= high:
            raise UsageError(f"{option} {value} is outside {low} … {high}")
    control = served_congestion_control(congestion_control)
    try:
        server = _native.SizesServer(port, max_message, max_messages, max_connections, control)
    except OSError as error:
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror or error}; name another one with --port"
        ) from error
    with stopped_by_signal() as stop_fd:
        print(f"listening {server.port}", flush=True)
        counters = server.serve(stop_fd=stop_fd)
    for name, count in counters:
        print(f"{name.removeprefix('server_').replace('_', ' ')}: {count}", file=sys.stderr)
    raise KeyboardInterrupt
