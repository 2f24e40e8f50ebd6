"""`tinygram serve sizes`: the native server of `sizes` alone."""

from __future__ import annotations

from typing import Annotated, NoReturn

from tinygram_bench import _native
from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between
from tinygram_bench.cli.commands.serve.alone import Port, serve_alone
from tinygram_bench.cli.options import CongestionControl
from tinygram_bench.model.units import format_bytes
from tinygram_bench.workloads.sizes.server import MAX_CONNECTIONS, MAX_MESSAGE_BYTES, MAX_MESSAGES

_MOST = (1 << 32) - 1
"""The largest u32."""


def serve_sizes(
    port: Port = 0,
    max_message: Annotated[
        int,
        quantities.size(
            "Size of the longest message that is accepted.",
            format_bytes(MAX_MESSAGE_BYTES),
            _MOST,
        ),
    ] = MAX_MESSAGE_BYTES,
    max_messages: Annotated[
        int,
        quantities.count("Most messages that a connection may announce.", str(MAX_MESSAGES)),
    ] = MAX_MESSAGES,
    max_connections: Annotated[
        int,
        quantities.count(
            "Most connections at a time; one more closes the one that has been silent for longest.",
            str(MAX_CONNECTIONS),
        ),
    ] = MAX_CONNECTIONS,
    congestion_control: CongestionControl = None,
) -> NoReturn:
    """Acknowledge messages, for `tinygram sizes --server` or any program that speaks with it.

    The setup is two big-endian u32, length and count; then count × (length bytes, which 4 bytes
    answer: the length, big-endian).
    """
    between("--max-messages", max_messages, 0, _MOST)
    between("--max-connections", max_connections, 1, 100_000)
    serve_alone(
        port,
        congestion_control,
        lambda control: _native.SizesServer(
            port, max_message, max_messages, max_connections, control
        ),
        lambda server, stop_fd: server.serve(stop_fd=stop_fd),
    )
