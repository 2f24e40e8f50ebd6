"""`tinygram echo`: servers that send back what they read, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import (
    between,
    check_command,
    check_slice,
    one_of,
    refuse_with,
    server_address,
    takes_turns,
)
from tinygram_bench.cli.length import MaxTime, MostRounds, Until, length
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.cli.sweep import (
    asked_sweep,
    planned_at,
    sweep_option,
    usual_strategies,
    with_hold,
)
from tinygram_bench.links import DEFAULT_BACKEND, has_own_proc
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.sweep import Parameter
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.processes.workers import LISTEN_LIMIT_S
from tinygram_bench.runs.foreign_server import ANSWER_LIMIT_S
from tinygram_bench.runs.slices import LEAST_MESSAGES
from tinygram_bench.workloads.echo.cases import (
    ALL_BUFFERS,
    DEFAULT_BUFFERS,
    PUBLISHED_BUFFERS,
    EchoOptions,
    External,
    plan_echo,
)
from tinygram_bench.workloads.echo.order import FAULTS, PER_READ, REPLIES
from tinygram_bench.workloads.echo.run import Echo

_SWEPT: tuple[Parameter, ...] = ("hold", "size", "rtt")
_MAX_WORKERS = 256
"""With a library server, each worker's connection takes two descriptors there, and a process may
usually have 1,024."""
_MAX_DEPTH = 65_536
_MAX_BUFFER_BYTES = 16 << 20
_MAX_IN_FLIGHT_BYTES = 1 << 30
_MAX_MESSAGES = 100_000_000
_LOOPBACK = "127.0.0.1"


def echo(
    size: Annotated[
        list[int] | None,
        quantities.size("Message size (repeatable).", "1000, 4096, 64KiB"),
    ] = None,
    workers: Annotated[
        int, quantities.count("Number of clients, with one connection each.", "5")
    ] = 5,
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
        quantities.size("Largest read of the servers (repeatable).", "64KiB", _MAX_BUFFER_BYTES),
    ] = None,
    duration: Annotated[int | None, quantities.duration("Duration of each run.", "500ms")] = None,
    messages: Annotated[
        int | None,
        quantities.count("Number of messages from all clients together, in place of --duration."),
    ] = None,
    slice: Annotated[
        int | None,
        quantities.duration("Length of a case's turns beside the other cases of its load.", "20ms"),
    ] = None,
    lone: options.Lone = False,
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
        typer.Option(
            metavar="STRATEGY",
            help="Strategy of the server, such as nodelay or adaptive (repeatable).",
            show_default="the usual ones of each runtime",
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUNTIME",
            help="Runtime of the server, such as asyncio (repeatable).",
            show_default="the usual ones",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERVER",
            help="server=NAME,implementation=NAME,…, or a server as the tables name it, such as "
            "uvloop/protocol (repeatable).",
        ),
    ] = None,
    sweep: Annotated[list[str] | None, sweep_option(*_SWEPT)] = None,
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
        _SWEPT,
        never_with={
            "--published": published,
            "--server": server,
            "--server-command": server_command,
        },
        set_by_sweep={"size": {"--size": size}},
    )
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
    _check_fault(faulty, reply)
    if published and (size or workers != 5 or depth != 1 or reply != PER_READ):
        raise UsageError(
            "--published sets sizes, workers, depth and reply itself: leave out --size, --workers, "
            "--depth and --reply"
        )
    links = options.links(link, link_backend, server, far)
    asked_length = length(rounds, until, max_time)
    asked = EchoOptions(
        message_bytes=size or [1_000, 4_096, 64 << 10],
        workers=between("--workers", workers, 1, _MAX_WORKERS),
        depth=between("--depth", depth, 1, _MAX_DEPTH),
        reply=reply,
        buffers_bytes=_buffers(buffer, every, published),
        messages=None if messages is None else between("--messages", messages, 1, _MAX_MESSAGES),
        duration_ns=500 * 10**6 if duration is None else duration,
        fault=faulty,
        external=_external(server_command, port, server),
        slice_ns=slice,
        takes_turns=has_turns,
        tls=options.with_tls(tls, plain),
        timeout_ns=timeout,
        has_all=every,
        only=only or [],
        runtimes=runtime or [],
        strategies=strategy or usual_strategies(swept, only),
        **options.shared(asked_length.rounds, seed, links, pin, congestion_control, probe),
    )
    in_flight_bytes = asked.workers * asked.depth * max(asked.message_bytes)
    if in_flight_bytes > _MAX_IN_FLIGHT_BYTES:
        raise UsageError(
            f"--workers {workers} with --depth {depth} would have {in_flight_bytes} bytes in "
            "flight: at most 1 GiB is allowed, so ask for fewer or smaller messages"
        )
    destination = options.destination("echo", json, resume, anonymous)
    manner = options.manner(quiet, published, notes, awake, wait, far)
    workload = Echo(asked.seed)

    def plan_of(options: EchoOptions) -> Plan:
        plan = plan_echo(options)
        if slice is not None:
            trip_ns = max(map(workload.waits_ns, plan.cases))
            trips = f"{LEAST_MESSAGES} round trips of {format_duration_ns(trip_ns)}"
            check_slice(slice, asked.duration_ns, LEAST_MESSAGES * trip_ns, trips)
        return plan

    if swept is not None:
        varied: Mapping[Parameter, Callable[[EchoOptions, float], EchoOptions]] = {
            "size": lambda each, size: replace(each, message_bytes=[int(size)]),
            "hold": with_hold,
        }
        plan_at = planned_at(asked, links, plan_of, swept, varied)
        return swept.asked_with(asked_length, plan_at, links, workload, destination, manner)
    plan = asked_length.of(links.planned(asked, plan_of))
    if server_command is not None and not has_own_proc():
        raise UsageError(
            "--server-command over a link needs a /proc of the link's processes, and mounting one "
            "is not permitted here: leave out --link, or run as root outside a container"
        )
    return Asked(plan, workload, destination, manner)


def _buffers(asked: list[int] | None, every: bool, published: bool) -> Sequence[int]:
    if asked:
        return asked
    if published:
        return PUBLISHED_BUFFERS
    return ALL_BUFFERS if every else DEFAULT_BUFFERS


def _check_fault(fault: str | None, reply: str) -> None:
    if fault is None:
        return
    one_of("--faulty", fault, FAULTS)
    if reply != PER_READ:
        raise UsageError(f"--faulty {fault} does not go with --reply {reply}: it replies to reads")


def _external(command: str | None, port: int | None, server: str | None) -> External | None:
    if server is not None:
        if command is not None or port is not None:
            raise UsageError(
                "--server names a running server: leave out --server-command and --port"
            )
        return External(*server_address(server), None)
    if command is None:
        if port is not None:
            raise UsageError(
                "--port is only for --server-command: it is where that program listens"
            )
        return None
    if port is None:
        raise UsageError("--server-command needs --port: where the program listens, e.g. 9000")
    check_command("--server-command", command)
    return External(_LOOPBACK, between("--port", port, 1, 65_535), command)
