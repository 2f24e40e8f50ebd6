"""`tinygram serve echo`: the native echo server alone."""

from __future__ import annotations

from typing import Annotated

import typer

from tinygram import _native
from tinygram.bench.cli.stopping import stopped_by_signal
from tinygram.bench.descriptors import raise_descriptor_limit
from tinygram.bench.errors import UsageError
from tinygram.bench.network import check_congestion_control
from tinygram.bench.runtimes.library.strategies import library_strategy
from tinygram.bench.strategies import parse_strategy
from tinygram.bench.units import parse_bytes
from tinygram.bench.workloads.echo.order import PER_MESSAGE, PER_READ, REPLIES
from tinygram.bench.workloads.echo.servers import server as server_named
from tinygram.strategies import native_knobs

_MAX_BUFFER_BYTES = 16 << 20
_MAX_MESSAGE_BYTES = 16 << 20
"""Each connection may make the server keep as much."""
_NATIVE = server_named("native", "tinygram", "epoll")


def serve_echo(
    port: Annotated[int, typer.Option(help="0: one that the kernel picks.")] = 0,
    reply: Annotated[
        str, typer.Option(help="per-read: what was read, at once; per-message: a send for each.")
    ] = PER_READ,
    size: Annotated[
        str | None, typer.Option(help="Of every message; with --reply per-message.")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="When replies leave; with --reply per-message.", show_default="nodelay"),
    ] = None,
    buffer: Annotated[str, typer.Option(help="Bytes per read at most.")] = "64KiB",
    congestion_control: Annotated[str, typer.Option(help="Of the connections.")] = "cubic",
) -> int:
    """Send back whatever comes, for `tinygram echo --server` or any other client.

    Connections are no more than 4,096, or what the process may have; then the one that has been
    silent for longest is ended.
    """
    if not 0 <= port <= 65_535:
        raise UsageError(f"--port {port} is outside 0 … 65535")
    if reply not in REPLIES:
        raise UsageError(f"unknown reply {reply!r}: the known ones are {', '.join(REPLIES)}")
    buffer_bytes = parse_bytes(buffer)
    if buffer_bytes > _MAX_BUFFER_BYTES:
        raise UsageError(f"--buffer {buffer} is above 16 MiB: name a smaller one")
    check_congestion_control(congestion_control)
    message_bytes = _message_bytes(reply, size)
    if message_bytes is None and strategy is not None:
        raise UsageError("--strategy goes with --reply per-message: a read goes back at once")
    raise_descriptor_limit()
    try:
        server = _native.EchoServer(
            port,
            buffer_bytes,
            message_bytes,
            None if message_bytes is None else _knobs(strategy or "nodelay"),
            congestion_control,
        )
    except OSError as error:
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror}; name another one with --port"
        ) from error
    with stopped_by_signal() as stop_fd:
        print(f"listening {server.port}", flush=True)
        server.serve(stop_fd)
    raise KeyboardInterrupt


def _message_bytes(reply: str, size: str | None) -> int | None:
    if reply != PER_MESSAGE:
        if size is not None:
            raise UsageError("--size goes with --reply per-message: reads have no size")
        return None
    if size is None:
        raise UsageError("--reply per-message needs --size: an echo has no other message boundary")
    message_bytes = parse_bytes(size)
    if message_bytes > _MAX_MESSAGE_BYTES:
        raise UsageError(f"--size {size} is above 16 MiB: name a smaller one")
    return message_bytes


def _knobs(text: str) -> _native.Knobs:
    strategy = parse_strategy(text)
    if not _NATIVE.supports(strategy):
        known = ", ".join(_NATIVE.strategies.known)
        raise UsageError(f"--strategy {text} is not the native server's: it has {known}")
    return native_knobs(library_strategy(strategy))
