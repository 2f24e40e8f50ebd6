"""`tinygram stream`: the ways of sending small messages, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import (
    between,
    check_command,
    check_descriptors,
    refuse,
    refuse_with,
    sendable,
    takes_turns,
)
from tinygram_bench.cli.commands.cluster import asked as cluster_asked
from tinygram_bench.cli.commands.stream.bounds import (
    check_bytes_at_once,
    check_slices,
    check_slices_told,
    directions_of,
)
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.cli.options.length import (
    USUAL_TIME_LIMIT_NS,
    Lone,
    MaxTime,
    MostRounds,
    TimeLimit,
    Until,
    duration_option,
    length,
    slice_option,
)
from tinygram_bench.cli.options.rates import Arrival, rate_option, rates_asked
from tinygram_bench.cli.options.sweep import (
    SWEEP_DURATION_NS,
    LimitOption,
    asked_sweep,
    planned_at,
    sweep_option,
    usual_strategies,
    with_hold,
)
from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.crosscheck.selection import choose
from tinygram_bench.links import DEFAULT_BACKEND
from tinygram_bench.loads.producers import MAX_PRODUCERS
from tinygram_bench.model.result import MessageBytes, Plan
from tinygram_bench.model.strategies import examples_of_strategies
from tinygram_bench.model.sweep import Parameter
from tinygram_bench.ways.runtimes import RUNTIMES
from tinygram_bench.workloads.stream.cases import StreamOptions, plan_stream
from tinygram_bench.workloads.stream.run import Stream

_DEFAULT_SIZE = MessageBytes(1, 500)
_CROSS_CHECK_SIZE = MessageBytes(100, 100)
_DEFAULT_DURATION_NS = 2 * 10**9
_FLAT_OUT_DURATION_NS = 200 * 10**6
_CROSS_CHECK_ONLY = "runtime=native,strategy=nagle,strategy=nodelay,strategy=tick"
_DEFAULT_MESSAGES = 200_000
_PUBLISHED_MESSAGES = 1_000_000
_MAX_MESSAGES = 100_000_000
_MAX_RECEIVE_BUFFER_BYTES = 1 << 30
_MOST_CONNECTIONS = 10_000


def stream(
    rate: Annotated[
        list[float] | None,
        rate_option("Messages", "messages are sent flat out"),
    ] = None,
    messages: Annotated[
        int | None, quantities.count("Messages in each flat-out run.", "200k")
    ] = None,
    size: Annotated[
        MessageBytes | None,
        quantities.message_sizes("Message size, or a range of equally frequent sizes.", "1-500"),
    ] = None,
    arrival: Arrival = None,
    burst: Annotated[
        int | None, quantities.count("Messages that are due at the same instant, with --rate.", "1")
    ] = None,
    producers: Annotated[
        list[int] | None,
        quantities.count("Number of threads that hand over messages (repeatable).", "1"),
    ] = None,
    connections: Annotated[
        list[int] | None,
        quantities.count(
            "Number of connections that messages go over in turn, 1 to 10,000 (repeatable).", "1"
        ),
    ] = None,
    busy_thread: Annotated[
        bool,
        typer.Option("--busy-thread", help="Run another Python thread that computes all the time."),
    ] = False,
    reverse: Annotated[
        bool,
        typer.Option("--reverse", help="Have the far end send, and the near end receive."),
    ] = False,
    bidirectional: Annotated[
        bool,
        typer.Option(
            "--bidirectional", help="Have both ends send at the same time, on a connection each."
        ),
    ] = False,
    tls: options.Tls = False,
    plain: options.Plain = False,
    duration: Annotated[int | None, duration_option("2s with --rate, else 200ms")] = None,
    slice: Annotated[
        int | None, slice_option("20ms, with --rate 10ms, longer at low rates")
    ] = None,
    lone: Lone = False,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Show the published figures beside ours; with --lone, send 1,000,000 messages.",
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Measure every way, not only the usual ones.")
    ] = False,
    strategy: Annotated[
        list[str] | None,
        options.names(
            "STRATEGY",
            "Strategy, such as nodelay or coalesce:10us",
            "the usual ones of each runtime",
            examples_of_strategies,
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        options.names(
            "RUNTIME",
            "Runtime that sends, such as loop or asyncio",
            "the usual ones",
            lambda: sorted({each.name for each in RUNTIMES}),
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        options.names(
            "WAY",
            "implementation=NAME, or a way as the tables name it, such as "
            "asyncio/tinygram/adaptive",
        ),
    ] = None,
    cross_check: Annotated[
        bool,
        typer.Option(
            "--cross-check",
            help="Also run sockperf, iperf3, nuttcp and qperf, beside our native limits.",
        ),
    ] = False,
    sweep: Annotated[list[str] | None, sweep_option()] = None,
    limit: LimitOption = None,
    rounds: MostRounds = None,
    until: Until = None,
    max_time: MaxTime = None,
    seed: options.Seed = 1,
    json: Annotated[Path | None, options.result_file("stream")] = None,
    resume: options.Resume = None,
    anonymous: options.Anonymous = False,
    quiet: options.Quiet = False,
    notes: options.Notes = False,
    link: options.Link = None,
    link_backend: options.LinkBackend = DEFAULT_BACKEND,
    pin: options.Pin = None,
    congestion_control: options.CongestionControl = None,
    receive_buffer: Annotated[
        int,
        quantities.size("Largest read of the receiver.", "256KiB", _MAX_RECEIVE_BUFFER_BYTES),
    ] = 256 << 10,
    server: options.FarServer = None,
    cluster: cluster_asked.Cluster = None,
    servers: cluster_asked.Servers = None,
    clients: cluster_asked.Clients = None,
    receiver_command: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Program to run in place of the receiver.")
    ] = None,
    probe: options.Probe = None,
    awake: options.Awake = False,
    wait: options.Wait = False,
    timeout: TimeLimit = USUAL_TIME_LIMIT_NS,
) -> Asked:
    """Send the same messages in every way, side by side; one sentence says which way won."""
    swept = asked_sweep(
        sweep,
        never_with={"--cross-check": cross_check, "--published": published},
        set_by_sweep={"rate": {"--rate": bool(rate)}, "size": {"--size": size is not None}},
        limit=limit,
        is_paced=bool(rate),
    )
    rates_per_s = rates_asked(
        rate,
        arrival,
        swept,
        never_with={"--messages": messages is not None, "--published": published},
        reason="that is for runs flat out, and --duration is how long one at a rate lasts",
        only_with={"--burst": burst is not None},
    )
    has_turns = takes_turns(
        slice,
        {
            "--lone": lone,
            "--messages": messages is not None,
            "--cross-check": cross_check,
            "--probe": probe is not None,
            "--busy-thread": busy_thread,
        },
    )
    if not rates_per_s and not has_turns:
        remedy = "one that runs alone and flat out ends with its --messages"
        refuse(duration is not None, f"--duration needs cases that take turns, or --rate: {remedy}")
    if cross_check:
        given = {
            "--rate": rates_per_s,
            "--published": published,
            "--only": only,
            "--runtime": runtime,
            "--strategy": strategy,
            "--producers": producers,
            "--busy-thread": busy_thread,
            "--receiver-command": receiver_command,
            "--probe": probe,
        }
        refuse_with("--cross-check", given, "it sets that itself")
        only = [_CROSS_CHECK_ONLY]
    if tls:
        refuse_with("--tls", {"--cross-check": cross_check}, "the other programs do not encrypt")
        refuse_with(
            "--tls",
            {"--receiver-command": receiver_command},
            "only a receiver of ours counts records",
        )
    directions = directions_of(
        reverse,
        bidirectional,
        {
            "--cross-check": cross_check,
            "--receiver-command": receiver_command,
            "--probe": probe,
            "--cluster": cluster,
        },
        {
            "--lone": lone,
            "--messages": messages is not None,
            "--busy-thread": busy_thread,
            "--sweep": sweep,
        },
    )
    counts = [between("--connections", each, 1, _MOST_CONNECTIONS) for each in connections or [1]]
    if max(counts) > 1:
        others: dict[str, object] = {
            "--tls": tls,
            "--producers": max(producers or [1]) > 1,
            "--receiver-command": receiver_command,
            "--cross-check": cross_check,
            "--probe": probe,
        }
        refuse_with(f"--connections {max(counts)}", others, "that is for one connection")
    if size is None:
        size = _CROSS_CHECK_SIZE if cross_check else _DEFAULT_SIZE
    asked_messages = messages
    if messages is None:
        messages = _PUBLISHED_MESSAGES if published else _DEFAULT_MESSAGES
    messages = between("--messages", messages, 1, _MAX_MESSAGES)
    if receiver_command is not None:
        check_command("--receiver-command", receiver_command)
    paced_ns = _DEFAULT_DURATION_NS if swept is None else SWEEP_DURATION_NS
    default_ns = paced_ns if rates_per_s else _FLAT_OUT_DURATION_NS
    duration_ns = default_ns if duration is None else duration
    refuse(
        cross_check and size.min != size.max,
        "--cross-check needs one size, since other programs have one, and not "
        f"{size.min}-{size.max}: for example --size 100",
    )
    far = options.far_end(server, is_ours=True)
    if far is not None:
        given_here = {"--cross-check": cross_check, "--receiver-command": receiver_command}
        refuse_with("--server", given_here, "that is for one host")
    on_cluster = cluster_asked.clustered(
        cluster,
        servers,
        clients,
        {
            "--lone": lone,
            "--messages": asked_messages is not None,
            "--probe": probe is not None,
            "--busy-thread": busy_thread,
            "--cross-check": cross_check,
            "--sweep rtt": swept is not None and swept.parameter == "rtt",
            "--server": server is not None,
            "--link": link is not None,
            "--receiver-command": receiver_command is not None,
        },
    )
    if on_cluster is not None:
        cluster_asked.check_connections(counts, on_cluster.clients)
    links = options.links(link, link_backend, far=far, is_cluster=on_cluster is not None)
    asked_length = length(rounds, until, max_time)
    asked = StreamOptions(
        messages=messages,
        message_bytes=size,
        rates_per_s=rates_per_s,
        arrival=arrival or "constant",
        burst=between("--burst", 1 if burst is None else burst, 1, 1_000_000),
        producers=[between("--producers", count, 1, MAX_PRODUCERS) for count in producers or [1]],
        has_busy_thread=busy_thread,
        duration_ns=duration_ns,
        slice_ns=slice,
        takes_turns=has_turns,
        lasts_as_asked=has_turns and duration is not None and not rates_per_s,
        tls=options.with_tls(tls, plain),
        directions=directions,
        connections=counts,
        receive_buffer_bytes=receive_buffer,
        receiver_command=receiver_command,
        timeout_ns=timeout + (duration_ns if rates_per_s or has_turns else 0),
        has_all=every,
        only=only or [],
        runtimes=runtime or [],
        strategies=strategy or usual_strategies(swept, only),
        clients=None if on_cluster is None else on_cluster.clients,
        **options.shared(
            asked_length.rounds,
            seed,
            links,
            pin,
            congestion_control,
            probe,
            is_cross_check=cross_check,
        ),
    )
    check_bytes_at_once(asked)
    if max(counts) > 1 and on_cluster is None:
        check_descriptors("--connections", plan_stream(asked))

    def plan_of(options: StreamOptions) -> Plan:
        plan = plan_stream(options)
        if slice is not None:
            check_slices(plan, slice, duration_ns)
        if on_cluster is None:
            return sendable(plan)
        return cluster_asked.checked(plan, on_cluster.servers, on_cluster.clients)

    destination = options.destination("stream", json, resume, anonymous)
    manner = options.manner(quiet, published, notes, awake, wait, far, on_cluster)
    workload = Stream(asked.seed)
    if swept is not None:
        varied: Mapping[Parameter, Callable[[StreamOptions, float], StreamOptions]] = {
            "rate": lambda each, rate: replace(each, rates_per_s=[rate]),
            "size": lambda each, size: replace(
                each, message_bytes=MessageBytes(int(size), int(size))
            ),
            "hold": with_hold,
        }
        plan_at = planned_at(asked, links, plan_of, swept, varied)
        return swept.asked_with(asked_length, plan_at, links, workload, destination, manner)
    plan = asked_length.of(links.planned(asked, plan_of))
    if far is not None:
        check_slices_told(plan)
    peers = Interleaved(plan, *choose(plan)) if cross_check else None
    return Asked(plan, workload, destination, manner, peers=peers)
