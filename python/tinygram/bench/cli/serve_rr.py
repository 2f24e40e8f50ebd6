"""`tinygram serve rr`: the native server of `rr` alone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tinygram._native import CallContent, RrServer
from tinygram.bench.cli.bounds import backlog_below, between
from tinygram.bench.cli.options import CongestionControl, served_congestion_control
from tinygram.bench.cli.stopping import stopped_by_signal
from tinygram.bench.descriptors import raise_descriptor_limit
from tinygram.bench.errors import UsageError
from tinygram.bench.units import parse_bytes, parse_duration_ns
from tinygram.bench.workloads.rr.cases import MAX_BYTES, STRATEGIES
from tinygram.bench.workloads.rr.serving import IDLE_NS, MAX_CONNECTIONS, longest_backlog

_LONGEST_IDLE_NS = 24 * 3_600_000_000_000


def serve_rr(
    port: Annotated[int, typer.Option(help="0: one that the kernel picks.")] = 0,
    request: Annotated[str, typer.Option(help="Size of a request.")] = "10010",
    reply: Annotated[str, typer.Option(help="Size of a reply.")] = "2",
    strategy: Annotated[str, typer.Option(help="nagle or nodelay.")] = "nodelay",
    backlog: Annotated[int, typer.Option(help="Connections that wait to be accepted.")] = 1024,
    quickack: Annotated[
        bool, typer.Option("--quickack", help="Set TCP_QUICKACK after each read.")
    ] = False,
    max_connections: Annotated[
        int, typer.Option(help="At a time; then the one without progress for longest is closed.")
    ] = MAX_CONNECTIONS,
    idle: Annotated[
        str, typer.Option(help="A connection without progress for so long is closed.")
    ] = f"{IDLE_NS // 1_000_000_000}s",
    congestion_control: CongestionControl = None,
) -> None:
    """Reply to requests, for `tinygram rr --server` or any program that speaks with it.

    Any bytes of a request's size are a request; byte j of the reply to a connection's request i is
    (i + j) modulo 251, both from 0.
    """
    request_bytes, reply_bytes = parse_bytes(request), parse_bytes(reply)
    idle_ns = parse_duration_ns(idle)
    if idle_ns > _LONGEST_IDLE_NS:
        raise UsageError(f"--idle {idle} is above 24h: name a shorter time")
    between("--port", port, 0, (1 << 16) - 1)
    between("--request", request_bytes, 1, MAX_BYTES)
    between("--reply", reply_bytes, 1, MAX_BYTES)
    backlog_below(backlog, longest_backlog())
    between("--max-connections", max_connections, 1, 1_000_000)
    if strategy not in STRATEGIES:
        raise UsageError(
            f"unknown --strategy {strategy!r}: the known ones are {', '.join(STRATEGIES)}"
        )
    control = served_congestion_control(congestion_control)
    raise_descriptor_limit()
    try:
        server = RrServer(
            CallContent(request_bytes, reply_bytes),
            port=port,
            backlog=backlog,
            is_nodelay=strategy == "nodelay",
            is_quickack=quickack,
            congestion_control=control,
            max_connections=max_connections,
            idle_ns=idle_ns,
        )
    except OSError as error:
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror}; name another one with --port"
        ) from error
    with stopped_by_signal() as stop_fd:
        print(f"listening {server.port}", flush=True)
        counters = server.run(stop_fd)
    for name, count in counters:
        print(f"{name.removeprefix('server_').replace('_', ' ')}: {count}", file=sys.stderr)
    raise KeyboardInterrupt
