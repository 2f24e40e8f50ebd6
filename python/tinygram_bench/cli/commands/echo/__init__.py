"""`tinygram echo`: servers that send back what they read, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import between, one_of, refuse_with, takes_turns
from tinygram_bench.cli.commands.cluster import asked as cluster_asked
from tinygram_bench.cli.commands.echo.bounds import (
    MAX_BUFFER_BYTES,
    MAX_DEPTH,
    MAX_MESSAGES,
    USUAL_WORKERS,
    buffers_of,
    check_fault,
    check_in_flight,
    check_slices,
    external_of,
    workers_of,
)
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.cli.options.length import (
    Lone,
    MaxTime,
    MostRounds,
    Until,
    duration_option,
    length,
    slice_option,
)
from tinygram_bench.cli.options.rates import Arrival, check_schedules, rate_option, rates_asked
from tinygram_bench.cli.options.sweep import (
    LimitOption,
    asked_sweep,
    check_swept,
    planned_at,
    sweep_option,
    usual_strategies,
    with_hold,
)
from tinygram_bench.links import DEFAULT_BACKEND, has_own_proc
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.sweep import Parameter
from tinygram_bench.processes.workers import LISTEN_LIMIT_S
from tinygram_bench.runs.foreign_server import ANSWER_LIMIT_S
from tinygram_bench.workloads.echo.cases import EchoOptions, plan_echo
from tinygram_bench.workloads.echo.order import FAULTS, PER_READ, REPLIES
from tinygram_bench.workloads.echo.run import Echo


def echo(
    size: Annotated[
        list[int] | None,
        quantities.size("Message size (repeatable).", "1000, 4096, 64KiB"),
    ] = None,
    workers: Annotated[
        int | None,
        quantities.count(
            "Number of workers of the client, with one connection each.",
            "5; on a cluster 5 for each client",
        ),
    ] = None,
    depth: Annotated[
        int, quantities.count("Number of messages in flight on each connection.", "1")
    ] = 1,
    reply: Annotated[
        str,
        typer.Option(
            metavar="REPLY",
            help="per-read: reply with what was read, at once; per-message: with a send call for "
            "each message.",
            autocompletion=lambda: list(REPLIES),
        ),
    ] = PER_READ,
    buffer: Annotated[
        list[int] | None,
        quantities.size("Largest read of the servers (repeatable).", "64KiB", MAX_BUFFER_BYTES),
    ] = None,
    rate: Annotated[
        list[float] | None,
        rate_option("Messages of all workers together", "each is sent when one has come back"),
    ] = None,
    arrival: Arrival = None,
    duration: Annotated[int | None, duration_option("500ms")] = None,
    messages: Annotated[
        int | None,
        quantities.count("Number of messages from all workers together, in place of --duration."),
    ] = None,
    slice: Annotated[int | None, slice_option("20ms, longer at low rates")] = None,
    lone: Lone = False,
    tls: options.Tls = False,
    plain: options.Plain = False,
    faulty: Annotated[
        str | None,
        typer.Option(
            metavar="FAULT",
            help="Also run deliberately broken servers, to show how fast their bug looks: "
            "whole-buffer sends back the whole buffer, however little was read.",
            autocompletion=lambda: list(FAULTS),
        ),
    ] = None,
    server_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Echo server to start and measure, on 127.0.0.1 (over a link: $TINYGRAM_FAR) "
            f"and --port. It must listen within {LISTEN_LIMIT_S:g} s, then answer within "
            f"{ANSWER_LIMIT_S:g} s.",
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port on which that program listens.")
    ] = None,
    server: options.Server = None,
    cluster: cluster_asked.Cluster = None,
    servers: cluster_asked.Servers = None,
    clients: cluster_asked.Clients = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Use the published sizes and buffers, and show those figures beside ours.",
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Measure every server, strategy and buffer size.")
    ] = False,
    strategy: Annotated[
        list[str] | None,
        options.names(
            "STRATEGY",
            "Strategy of the server, such as nodelay or adaptive",
            "the usual ones of each runtime",
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        options.names(
            "RUNTIME",
            "Runtime of the server, such as asyncio",
            "the usual ones",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        options.names(
            "SERVER",
            "server=NAME,implementation=NAME,…, or a server as the tables name it, such as "
            "uvloop/protocol",
        ),
    ] = None,
    sweep: Annotated[list[str] | None, sweep_option()] = None,
    limit: LimitOption = None,
    rounds: MostRounds = None,
    until: Until = None,
    max_time: MaxTime = None,
    seed: options.Seed = 1,
    json: Annotated[Path | None, options.result_file("echo")] = None,
    resume: options.Resume = None,
    anonymous: options.Anonymous = False,
    quiet: options.Quiet = False,
    notes: options.Notes = False,
    link: options.Link = None,
    link_backend: options.LinkBackend = DEFAULT_BACKEND,
    pin: options.Pin = None,
    congestion_control: options.CongestionControl = None,
    probe: options.Probe = None,
    awake: options.Awake = False,
    wait: options.Wait = False,
    timeout: Annotated[
        int,
        quantities.duration(
            "Time limit for each of connecting, the warm-up and the end of a run.", "30s"
        ),
    ] = 30 * 10**9,
) -> Asked:
    """Measure servers that send back what they read; every byte is compared with what was sent."""
    far = options.far_end(server)
    if far is not None:
        if server_command is not None or port is not None:
            raise UsageError(
                "--server cannot be combined with --server-command and --port: programs that are "
                "not ours run here alone"
            )
        server = None
    swept = asked_sweep(
        sweep,
        never_with={"--published": published},
        set_by_sweep={"size": {"--size": size}, "rate": {"--rate": rate}},
        limit=limit,
        limited="round_trip",
        is_paced=bool(rate),
    )
    check_swept(swept, {"--server": server, "--server-command": server_command})
    closed = {"--messages": messages is not None, "--published": published}
    reason = "only without a rate a message is sent when one has come back"
    rates_per_s = rates_asked(rate, arrival, swept, never_with=closed, reason=reason)
    if messages is not None and duration is not None:
        raise UsageError("--messages cannot be combined with --duration: a run ends by one of them")
    has_turns = takes_turns(
        slice,
        {"--lone": lone, "--messages": messages is not None, "--probe": probe is not None},
    )
    if tls:
        others = {"--server": server, "--server-command": server_command}
        refuse_with("--tls", others, options.NO_CERTIFICATE)
        refuse_with("--tls", {"--faulty": faulty}, "the faulty server does not encrypt")
    one_of("--reply", reply, REPLIES)
    check_fault(faulty, reply)
    if published and (
        size or workers not in (None, USUAL_WORKERS) or depth != 1 or reply != PER_READ
    ):
        raise UsageError(
            "--published sets sizes, workers, depth and reply itself: leave out --size, --workers, "
            "--depth and --reply"
        )
    on_cluster = cluster_asked.clustered(
        cluster,
        servers,
        clients,
        {
            "--lone": lone,
            "--messages": messages is not None,
            "--probe": probe is not None,
            "--published": published,
            "--server": server is not None or far is not None,
            "--server-command": server_command is not None,
            "--sweep rtt": swept is not None and swept.parameter == "rtt",
            "--link": link is not None,
        },
    )
    client_count = None if on_cluster is None else on_cluster.clients
    links = options.links(link, link_backend, server, far, is_cluster=on_cluster is not None)
    asked_length = length(rounds, until, max_time)
    asked = EchoOptions(
        message_bytes=size or [1_000, 4_096, 64 << 10],
        workers=workers_of(workers, client_count),
        depth=between("--depth", depth, 1, MAX_DEPTH),
        reply=reply,
        buffers_bytes=buffers_of(buffer, every, published),
        messages=None if messages is None else between("--messages", messages, 1, MAX_MESSAGES),
        duration_ns=500 * 10**6 if duration is None else duration,
        fault=faulty,
        external=external_of(server_command, port, server),
        slice_ns=slice,
        takes_turns=has_turns,
        tls=options.with_tls(tls, plain),
        rates_per_s=rates_per_s,
        arrival=arrival or "constant",
        timeout_ns=timeout,
        has_all=every,
        only=only or [],
        runtimes=runtime or [],
        strategies=strategy or usual_strategies(swept, only),
        clients=client_count,
        **options.shared(asked_length.rounds, seed, links, pin, congestion_control, probe),
    )
    check_in_flight(asked)
    destination = options.destination("echo", json, resume, anonymous)
    manner = options.manner(quiet, published, notes, awake, wait, far, on_cluster)
    workload = Echo(asked.seed)

    def plan_of(options: EchoOptions) -> Plan:
        plan = check_schedules(plan_echo(options), MAX_MESSAGES, slice)
        if slice is not None:
            check_slices(plan, slice, asked.duration_ns)
        if on_cluster is None:
            return plan
        return cluster_asked.checked(plan, on_cluster.servers, on_cluster.clients)

    if swept is not None:
        varied: Mapping[Parameter, Callable[[EchoOptions, float], EchoOptions]] = {
            "rate": lambda each, rate: replace(each, rates_per_s=[rate]),
            "size": lambda each, size: replace(each, message_bytes=[int(size)]),
            "hold": with_hold,
        }
        plan_at = planned_at(asked, links, plan_of, swept, varied)
        found = swept.asked_with(asked_length, plan_at, links, workload, destination, manner)
    else:
        plan = asked_length.of(links.planned(asked, plan_of))
        found = Asked(plan, workload, destination, manner)
    if server_command is not None and not has_own_proc():
        raise UsageError(
            "--server-command over a link needs a /proc of the link's processes, and mounting one "
            "is not permitted here: leave out --link, or run as root outside a container"
        )
    return found
