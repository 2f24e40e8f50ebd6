"""`tinygram sizes`: message size against latency and bandwidth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import between, one_of, read, server_address, takes_turns
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.cli.options.length import length
from tinygram_bench.cli.options.sweep import asked_sweep, planned_at, sweep_option
from tinygram_bench.links import DEFAULT_BACKEND
from tinygram_bench.model.sweep import Parameter
from tinygram_bench.workloads.sizes.cases import (
    RUNTIME,
    STRATEGIES,
    SizesOptions,
    check_sample_bytes,
    parse_round_trips,
    parse_sizes,
    plan_sizes,
)
from tinygram_bench.workloads.sizes.run import Sizes

_SWEPT: tuple[Parameter, ...] = ("rtt",)


def sizes(
    sizes: Annotated[
        str,
        typer.Option(
            metavar="SIZES",
            help="Message sizes: a list such as 100,64KiB, or decades such as 1..1MB.",
        ),
    ] = "1..1MB",
    round_trips: Annotated[
        str, typer.Option(metavar="COUNTS", help="Round trips on each connection, as a list.")
    ] = "0,1,2",
    samples: Annotated[int, quantities.count("Number of connections in each run.", "200")] = 200,
    first: Annotated[
        int, quantities.count("Cold-start connections, reported separately.", "10")
    ] = 10,
    setup_writes: Annotated[
        list[int] | None,
        quantities.count(
            "Number of writes for the setup and the first data: 1 or 2 (repeatable).", "2"
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        options.names("STRATEGY", "Strategy of the client: nodelay or nagle", "nodelay"),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        options.names("RUNTIME", "Runtime of the client: native", "native"),
    ] = None,
    predict: Annotated[
        list[int] | None,
        quantities.size(
            "Predict the time for this size from the model (repeatable).", None, 1 << 62
        ),
    ] = None,
    server: options.Server = None,
    local: Annotated[
        bool, typer.Option(help="Also time the parts of a round trip on this host.")
    ] = True,
    lone: Annotated[
        bool,
        typer.Option(
            "--lone",
            help="Run each case alone; otherwise single samples of all cases of a link alternate.",
        ),
    ] = False,
    published: options.Published = False,
    sweep: Annotated[list[str] | None, sweep_option(_SWEPT)] = None,
    rounds: options.Rounds = 7,
    seed: options.Seed = 1,
    json: Annotated[Path | None, options.result_file("sizes")] = None,
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
            "Time limit for each run; each connect, write and wait may take half of it.", "60s"
        ),
    ] = 60 * 10**9,
) -> Asked:
    """A connection per sample: time by size and round trips, and the model that explains it."""
    far = options.far_end(server)
    if far is not None:
        server = None
    swept = asked_sweep(sweep, never_with={"--server": server}, set_by_sweep={}, known=_SWEPT)
    for each in strategy or []:
        one_of("--strategy", each, STRATEGIES)
    for each in runtime or []:
        one_of("--runtime", each, (RUNTIME,))
    links = options.links(link, link_backend, server, far)
    asked = SizesOptions(
        sizes_bytes=read("--sizes", parse_sizes, sizes),
        round_trips=parse_round_trips(round_trips),
        setup_writes=[between("--setup-writes", count, 1, 2) for count in setup_writes or [2]],
        strategies=strategy or ["nodelay"],
        samples=between("--samples", samples, 100, 1_000_000),
        first_samples=between("--first", first, 1, 1_000_000),
        predicted_bytes=predict or [],
        server=None if server is None else "{}:{}".format(*server_address(server)),
        has_local=local,
        takes_turns=takes_turns(None, {"--lone": lone, "--probe": probe is not None}),
        timeout_ns=timeout,
        **options.shared(rounds, seed, links, pin, congestion_control, probe),
    )
    check_sample_bytes(asked.sizes_bytes, asked.round_trips)
    destination = options.destination("sizes", json, resume, anonymous)
    manner = options.manner(quiet, published, notes, awake, wait, far)
    if swept is not None:
        plan_at = planned_at(replace(asked, has_local=False), links, plan_sizes, swept, {})
        asked_length = length(rounds, None, None)
        return swept.asked_with(
            asked_length, plan_at, links, Sizes(asked.seed), destination, manner
        )
    # The parts of a local round trip involve no link, so that they are measured only once.
    plan = links.planned(
        asked, lambda each: plan_sizes(replace(each, has_local=local and each.link == asked.link))
    )
    return Asked(plan, Sizes(asked.seed), destination, manner)
