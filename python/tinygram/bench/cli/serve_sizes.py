"""`tinygram serve sizes`: the native server of `sizes` alone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tinygram import _native
from tinygram.bench.cli.options import CongestionControl, served_congestion_control
from tinygram.bench.cli.stopping import stopped_by_signal
from tinygram.bench.errors import UsageError
from tinygram.bench.units import parse_bytes
from tinygram.bench.workloads.sizes.server import MAX_CONNECTIONS, MAX_MESSAGE_BYTES, MAX_MESSAGES

_MOST_BYTES = (1 << 32) - 1


def serve_sizes(
    port: Annotated[int, typer.Option(help="0: one that the kernel picks.")] = 0,
    max_message: Annotated[
        str, typer.Option(help="Longer messages are refused.")
    ] = f"{MAX_MESSAGE_BYTES >> 20}MiB",
    max_messages: Annotated[
        int, typer.Option(help="A connection that announces more is refused.")
    ] = MAX_MESSAGES,
    max_connections: Annotated[
        int, typer.Option(help="At a time; then the most silent one gives way.")
    ] = MAX_CONNECTIONS,
    congestion_control: CongestionControl = None,
) -> None:
    """Acknowledge messages, for `tinygram sizes --server` or any program that speaks with it.

    The setup is two big-endian u32, length and count; then count × (length bytes, which 4 bytes
    answer: the length, big-endian).
    """
    max_message_bytes = parse_bytes(max_message)
    if max_message_bytes > _MOST_BYTES:
        raise UsageError(f"--max-message {max_message} is above 4 GiB − 1 B, which the wire allows")
    for option, value, low, high in (
        ("--port", port, 0, (1 << 16) - 1),
        ("--max-messages", max_messages, 0, _MOST_BYTES),
        ("--max-connections", max_connections, 1, 100_000),
    ):
        if not low <= value <= high:
            raise UsageError(f"{option} {value} is outside {low} … {high}")
    control = served_congestion_control(congestion_control)
    try:
        server = _native.SizesServer(
            port, max_message_bytes, max_messages, max_connections, control
        )
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
