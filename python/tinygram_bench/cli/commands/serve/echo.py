"""`tinygram serve echo`: the native echo server alone."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from tinygram_bench import _native
from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between, one_of
from tinygram_bench.cli.commands.serve.alone import Port, serve_alone
from tinygram_bench.cli.options import CongestionControl
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.workloads.echo.order import PER_MESSAGE, PER_READ, REPLIES
from tinygram_bench.workloads.echo.servers import server as server_named

_MAX_BUFFER_BYTES = 16 << 20
_MAX_MESSAGE_BYTES = 16 << 20
"""The longest buffer and message that a connection can make the server keep."""
_NATIVE = server_named("native", "tinygram", "epoll")


def serve_echo(
    port: Port = 0,
    reply: Annotated[
        str,
        typer.Option(
            metavar="REPLY",
            help="per-read: reply with what was read, at once; per-message: with a send call for "
            "each message.",
            autocompletion=lambda: list(REPLIES),
        ),
    ] = PER_READ,
    size: Annotated[
        int | None,
        quantities.size(
            "Size of every message, with --reply per-message.", None, _MAX_MESSAGE_BYTES
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="STRATEGY",
            help="When replies leave, with --reply per-message.",
            show_default="nodelay",
        ),
    ] = None,
    buffer: Annotated[int, quantities.size("Largest read.", "64KiB", _MAX_BUFFER_BYTES)] = 64 << 10,
    max_connections: Annotated[
        int | None,
        quantities.count(
            "Most connections at a time; one more closes the one that has been silent for longest.",
            "4096, or fewer that keep 1 GiB at most",
        ),
    ] = None,
    congestion_control: CongestionControl = None,
) -> NoReturn:
    """Send back whatever comes, for `tinygram echo --server` or any other client.

    What a client does not take is kept for it: one --buffer, with --reply per-message some more of
    it and of --size. All connections together may keep 1 GiB: the larger these are, the fewer there
    are at a time, unless --max-connections says how many.
    """
    if max_connections is not None:
        between("--max-connections", max_connections, 1, 1_000_000)
    one_of("--reply", reply, REPLIES)
    message_bytes = _message_bytes(reply, size)
    if message_bytes is None and strategy is not None:
        raise UsageError("--strategy is only for --reply per-message: a read is sent back at once")
    raise_descriptor_limit()
    served = None if message_bytes is None else _served(strategy or "nodelay")
    serve_alone(
        port,
        congestion_control,
        lambda control: _native.EchoServer(
            port, buffer, message_bytes, served, control, max_connections=max_connections
        ),
        lambda server, stop_fd: server.serve(stop_fd),
    )


def _message_bytes(reply: str, size: int | None) -> int | None:
    if reply != PER_MESSAGE:
        if size is not None:
            raise UsageError("--size is only for --reply per-message: reads have no fixed size")
        return None
    if size is None:
        raise UsageError("--reply per-message needs --size: an echo has no other message boundary")
    return size


def _served(text: str) -> tuple[str, int | None]:
    strategy = parse_strategy(text)
    if not _NATIVE.supports(strategy):
        known = ", ".join(_NATIVE.strategies)
        raise UsageError(
            f"--strategy {text} is not available on the native server, which has {known}"
        )
    return strategy.name, strategy.duration_ns
