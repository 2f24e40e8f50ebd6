"""`tinygram serve rr`: the native server of `rr` alone."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from tinygram_bench._native import CallContent, RrServer
from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import backlog_below, between, duration_between_ns, one_of
from tinygram_bench.cli.commands.serve.alone import Port, serve_alone
from tinygram_bench.cli.options import CongestionControl
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.workloads.rr.cases import MAX_BYTES, STRATEGIES
from tinygram_bench.workloads.rr.serving import MAX_CONNECTIONS, longest_backlog

_IDLE_NS, _LONGEST_IDLE_NS = 60_000_000_000, 24 * 3_600_000_000_000


def serve_rr(
    port: Port = 0,
    request: Annotated[int, quantities.size("Size of each request.", "10010", MAX_BYTES)] = 10_010,
    reply: Annotated[int, quantities.size("Size of each reply.", "2", MAX_BYTES)] = 2,
    strategy: Annotated[
        str, typer.Option(metavar="STRATEGY", help="When replies leave: nagle or nodelay.")
    ] = "nodelay",
    backlog: Annotated[
        int, quantities.count("Number of connections that may wait to be accepted.", "1024")
    ] = 1024,
    quickack: Annotated[
        bool, typer.Option("--quickack", help="Set TCP_QUICKACK after each read.")
    ] = False,
    max_connections: Annotated[
        int,
        quantities.count(
            "Most connections at a time; one more closes the one that has made no progress for "
            "longest.",
            str(MAX_CONNECTIONS),
        ),
    ] = MAX_CONNECTIONS,
    idle: Annotated[
        int,
        quantities.duration(
            "Time after which a connection without progress is closed.",
            format_duration_ns(_IDLE_NS),
        ),
    ] = _IDLE_NS,
    congestion_control: CongestionControl = None,
) -> NoReturn:
    """Reply to requests, for `tinygram rr --server` or any program that speaks with it.

    Any bytes of a request's size are a request; byte j of the reply to a connection's request i is
    (i + j) modulo 251, both from 0.
    """
    duration_between_ns("--idle", idle, 1, _LONGEST_IDLE_NS)
    backlog_below(backlog, longest_backlog())
    between("--max-connections", max_connections, 1, 1_000_000)
    one_of("--strategy", strategy, STRATEGIES)
    raise_descriptor_limit()
    serve_alone(
        port,
        congestion_control,
        lambda control: RrServer(
            CallContent(request, reply),
            port=port,
            backlog=backlog,
            is_nodelay=strategy == "nodelay",
            is_quickack=quickack,
            congestion_control=control,
            max_connections=max_connections,
            idle_ns=idle,
        ),
        lambda server, stop_fd: server.run(stop_fd),
    )
