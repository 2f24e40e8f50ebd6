"""`tinygram rr`: requests and replies, with the time of a call and of connecting apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import (
    between,
    check_descriptors,
    duration_between_ns,
    refuse_with,
    server_address,
    slice_within_ns,
    takes_turns,
)
from tinygram_bench.cli.commands.cluster import asked as cluster_asked
from tinygram_bench.cli.commands.rr.bounds import (
    check_backlogs,
    check_callers,
    check_cross_check,
    check_due,
    check_unchecked,
    cross_checked,
    processes_of_callers,
    refuse_with_scenario,
)
from tinygram_bench.cli.commands.rr.judging import judge_of
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.cli.options.length import (
    USUAL_ROUNDS,
    USUAL_TIME_LIMIT_NS,
    Lone,
    MaxTime,
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
    check_swept,
    held,
    planned_at,
    sweep_option,
    usual_strategies,
)
from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.crosscheck.selection import choose
from tinygram_bench.links import DEFAULT_BACKEND
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan, Result
from tinygram_bench.model.sweep import Parameter
from tinygram_bench.workloads.rr import scenarios
from tinygram_bench.workloads.rr.calling import LIBRARY
from tinygram_bench.workloads.rr.cases import (
    CONNECTIONS,
    MAX_BYTES,
    STRATEGIES,
    RrOptions,
    number_of,
    plan_rr,
)
from tinygram_bench.workloads.rr.run import Rr

_DEFAULTS = RrOptions()
_VARIED: Mapping[Parameter, Callable[[RrOptions, float], RrOptions]] = {
    "rate": lambda asked, rate: replace(asked, rates_per_s=[rate]),
    "size": lambda asked, size: replace(asked, request_bytes=int(size)),
    "hold": lambda asked, hold: replace(asked, strategies=held(asked.strategies, hold)),
}
_HOLDING_RUNTIME = "asyncio"
"""The runtime of callers in a sweep of holds, unless others are named: threads hold nothing."""
_DURATION_NS = 1_000_000, 24 * 3_600_000_000_000


def rr(
    connections: Annotated[
        list[str] | None,
        options.names(
            "KIND",
            "How connections are used: per-request, per-caller or shared; or their number, 1 to "
            "10,000, with a caller on each and no thread for it",
            "per-request and per-caller",
            lambda: list(CONNECTIONS),
        ),
    ] = None,
    sends_per_request: Annotated[
        list[int] | None,
        quantities.count("Number of send calls for each request (repeatable).", "1 and 10"),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        options.names(
            "STRATEGY",
            "Strategy of the callers: nagle or nodelay, or on event loops one of the library's, "
            "such as adaptive",
            "nagle and nodelay; on a number of connections nodelay and adaptive; with --sweep hold "
            "nodelay and coalesce",
            lambda: [*STRATEGIES, *LIBRARY],
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        options.names(
            "RUNTIME",
            "Runtime of the callers: threads, asyncio, uvloop, native, or on a number of "
            "connections native/io_uring",
            "threads; on a number of connections the others (TLS: asyncio, uvloop); with --sweep "
            "hold asyncio",
        ),
    ] = None,
    callers: Annotated[
        str | None,
        typer.Option(
            metavar="PxC",
            help="P processes with C callers each.",
            show_default="2x100",
        ),
    ] = None,
    request: Annotated[
        int | None, quantities.size("Size of each request.", "10010", MAX_BYTES)
    ] = None,
    reply: Annotated[int | None, quantities.size("Size of each reply.", "2", MAX_BYTES)] = None,
    reply_bytes: Annotated[
        int | None,
        quantities.size(
            "Size of each reply, whose content is not checked: for any program, with --server.",
            max_bytes=MAX_BYTES,
        ),
    ] = None,
    depth: Annotated[
        int | None,
        quantities.count("Requests in flight on a shared connection.", "all callers"),
    ] = None,
    server_runtime: Annotated[
        list[str] | None,
        options.names(
            "RUNTIME",
            "Runtime of the server: native, asyncio or uvloop",
            "native; with --tls asyncio",
        ),
    ] = None,
    server_strategy: Annotated[
        list[str] | None,
        options.names("STRATEGY", "Strategy of the server: nagle or nodelay", "nodelay"),
    ] = None,
    backlog: Annotated[
        list[int] | None,
        quantities.count("Listen backlog of the server (repeatable).", "1024"),
    ] = None,
    tls: options.Tls = False,
    plain: options.Plain = False,
    quickack: Annotated[
        bool, typer.Option("--quickack", help="Let the server set TCP_QUICKACK after each read.")
    ] = False,
    server: options.Server = None,
    cluster: cluster_asked.Cluster = None,
    servers: cluster_asked.Servers = None,
    clients: cluster_asked.Clients = None,
    rate: Annotated[
        list[float] | None,
        rate_option(
            "Calls of all callers together", "a caller calls again as soon as it has its reply"
        ),
    ] = None,
    arrival: Arrival = None,
    calls: Annotated[
        int | None, quantities.count("Number of calls by each caller, in place of --duration.")
    ] = None,
    duration: Annotated[int | None, duration_option("1s; for a sweep at rates 500ms")] = None,
    slice: Annotated[
        int | None, slice_option("20ms, longer where calls take long, or at low rates")
    ] = None,
    lone: Lone = False,
    warm_up: Annotated[
        int, quantities.count("Number of calls by each caller before the clock starts.", "3")
    ] = 3,
    published: options.Published = False,
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Reproduce a known effect (see --scenarios). Exits with 1 when a figure is out of "
            "range, with 4 when it is not known here.",
            autocompletion=lambda: list(scenarios.SCENARIOS),
        ),
    ] = None,
    list_scenarios: Annotated[
        bool, typer.Option("--scenarios", help="List the scenarios and exit.")
    ] = False,
    cross_check: Annotated[
        bool,
        typer.Option(
            "--cross-check", help="Also run sockperf and qperf, beside one native caller."
        ),
    ] = False,
    rounds: Annotated[
        int | None, quantities.count("How often each case is run.", "7; for a scenario 3")
    ] = None,
    sweep: Annotated[list[str] | None, sweep_option()] = None,
    limit: LimitOption = None,
    until: Until = None,
    max_time: MaxTime = None,
    seed: options.Seed = 1,
    json: Annotated[Path | None, options.result_file("rr")] = None,
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
    timeout: TimeLimit = USUAL_TIME_LIMIT_NS,
) -> Asked | ExitCode:
    """Call a server over TCP in every way that was asked for; each call waits for its reply."""
    if list_scenarios:
        print(scenarios.listing())
        return ExitCode.OK
    far = options.far_end(server)
    if tls:
        foreign = {"--server": None if far else server, "--reply-bytes": reply_bytes}
        refuse_with("--tls", foreign, options.NO_CERTIFICATE)
        plain_too = {"--scenario": scenario, "--cross-check": cross_check}
        refuse_with("--tls", plain_too, "some of its programs do not encrypt")
    if far is not None:
        if cross_check:
            raise UsageError(
                "--server cannot be combined with --cross-check: other programs run here alone"
            )
        server = None
    swept = asked_sweep(
        sweep,
        never_with={"--scenario": scenario, "--cross-check": cross_check},
        set_by_sweep={"size": {"--request": request}, "rate": {"--rate": rate}},
        limit=limit,
        limited="call",
        is_paced=bool(rate),
    )
    check_swept(swept, {"--server": server})
    closed = {"--scenario": scenario, "--cross-check": cross_check, "--published": published}
    reason = "only without a rate callers call again and again"
    rates_per_s = rates_asked(
        rate, arrival, swept, never_with=closed | {"--calls": calls}, reason=reason
    )
    sweeps_holds = swept is not None and swept.parameter == "hold"
    shape: dict[str, Any] = {
        "connections": connections,
        "sends_per_request": sends_per_request,
        "strategies": strategy or usual_strategies(swept, ()) or None,
        "runtimes": runtime or ([_HOLDING_RUNTIME] if sweeps_holds else None),
        "servers": server_runtime or (["asyncio"] if tls else None),
        "server_strategies": server_strategy,
        "backlogs": backlog,
        "request_bytes": request,
        "reply_bytes": reply if reply_bytes is None else reply_bytes,
        "checks_replies": None if reply_bytes is None else False,
        "depth": depth,
        "has_quickack": quickack or None,
        "server_address": None if server is None else server_address(server),
    }
    shape = {name: value for name, value in shape.items() if value is not None}
    if reply_bytes is not None:
        check_unchecked(reply, server)
    if callers is not None:
        check_callers(connections)
    if scenario is not None:
        others = {"pin": pin, "until": until, "max_time": max_time}
        given = [name for name, value in others.items() if value is not None]
        refuse_with_scenario([*shape, *given])
    if cross_check:
        check_cross_check({"scenario": scenario, "callers": callers, "probe": probe}, shape)
        callers = "1x1"
        shape = cross_checked(shape)
    if server is not None and (server_runtime or server_strategy or backlog or quickack):
        raise UsageError(
            "--server names a server that is already running: --server-runtime, --server-strategy, "
            "--backlog and --quickack are for whoever started it"
        )
    if calls is not None and duration is not None:
        raise UsageError("--calls and --duration cannot be combined: use one of them")
    has_turns = takes_turns(
        slice,
        {
            "--lone": lone,
            "--calls": calls is not None,
            "--scenario": scenario is not None,
            "--cross-check": cross_check,
            "--probe": probe is not None,
        },
    )
    on_cluster = cluster_asked.clustered(
        cluster,
        servers,
        clients,
        {
            "--lone": lone,
            "--calls": calls is not None,
            "--probe": probe is not None,
            "--scenario": scenario is not None,
            "--cross-check": cross_check,
            "--sweep rtt": swept is not None and swept.parameter == "rtt",
            "--server": server is not None or far is not None,
            "--link": link is not None,
        },
    )
    links = options.links(link, link_backend, server, far, is_cluster=on_cluster is not None)
    if scenario is not None:
        links.check_loopback("--scenario", "what a scenario expects is known of loopback")
    usual_rounds = USUAL_ROUNDS if scenario is None else scenarios.ROUNDS
    asked_length = length(rounds, until, max_time, usual_rounds)
    each_of_default = _DEFAULTS.callers if scenario is None else scenarios.callers_of(scenario)
    processes, each = processes_of_callers(callers, _DEFAULTS.processes, each_of_default)
    default_ns = SWEEP_DURATION_NS if swept is not None and rates_per_s else _DEFAULTS.duration_ns
    duration_ns = duration_between_ns(
        "--duration", default_ns if duration is None else duration, *_DURATION_NS
    )
    asked = RrOptions(
        **shape,
        tls=options.with_tls(tls, plain),
        processes=processes,
        callers=each,
        calls=None if calls is None else between("--calls", calls, 1, 1_000_000_000),
        duration_ns=duration_ns,
        slice_ns=None if slice is None else slice_within_ns(slice, duration_ns),
        takes_turns=has_turns,
        rates_per_s=rates_per_s,
        arrival=arrival or "constant",
        warm_up_calls=between("--warm-up", warm_up, 0, 1_000_000),
        timeout_ns=duration_between_ns("--timeout", timeout, *_DURATION_NS)
        + (duration_ns if calls is None else 0),
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
    if on_cluster is None and any(number_of(each) for each in asked.connections):
        check_descriptors("--connections", plan_rr(asked))
    destination = options.destination("rr", json, resume, anonymous)
    manner = options.manner(quiet, published, notes, awake, wait, far, on_cluster)

    def plan_of(options: RrOptions) -> Plan:
        plan = check_due(plan_rr(options), slice)
        if on_cluster is None:
            return plan
        return cluster_asked.checked(plan, on_cluster.servers, on_cluster.clients)

    if swept is not None:
        check_backlogs(asked)
        plan_at = planned_at(asked, links, plan_of, swept, _VARIED)
        return swept.asked_with(asked_length, plan_at, links, Rr(asked.seed), destination, manner)
    judge: Callable[[Result], ExitCode] | None = None
    if scenario is None:
        plan = asked_length.of(links.planned(asked, plan_of))
    else:
        plan, case_ids = scenarios.plan_scenario(scenario, asked)
        output = sys.stderr if destination.is_standard_output else sys.stdout
        judge = judge_of(scenario, case_ids, None if quiet else output)
    if server is None:
        check_backlogs(asked)
    peers = Interleaved(plan, *choose(plan)) if cross_check else None
    return Asked(plan, Rr(asked.seed), destination, manner, peers=peers, judge=judge)
