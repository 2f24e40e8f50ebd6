"""`tinygram sizes`: message size against latency and bandwidth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tinygram.bench.answering import check_server
from tinygram.bench.cli import options
from tinygram.bench.cli.bounds import between, server_address
from tinygram.bench.cli.measuring import measure
from tinygram.bench.errors import UsageError
from tinygram.bench.links import DEFAULT_BACKEND
from tinygram.bench.units import parse_bytes, parse_duration_ns
from tinygram.bench.workloads.sizes.cases import (
    STRATEGIES,
    SizesOptions,
    check_sample_bytes,
    first_sample,
    parse_round_trips,
    parse_sizes,
    plan_sizes,
)
from tinygram.bench.workloads.sizes.run import SizesBench


def sizes(
    sizes: Annotated[
        str, typer.Option(help="Message sizes: 100,64KiB, or by decades, 1..1MB.")
    ] = "1..1MB",
    round_trips: Annotated[str, typer.Option(help="Messages of a connection.")] = "0,1,2",
    samples: Annotated[int, typer.Option(help="Connections of a run, the first ones apart.")] = 200,
    first: Annotated[int, typer.Option(help="First ones, in no figure but their own.")] = 10,
    setup_writes: Annotated[
        list[int] | None,
        typer.Option(
            help="Setup and first data in 1 write, where there is data, or in 2, repeatable.",
            show_default="2",
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help="nodelay or nagle, repeatable.", show_default="nodelay"),
    ] = None,
    predict: Annotated[
        list[str] | None, typer.Option(help="A size whose time the model tells, repeatable.")
    ] = None,
    server: options.Server = None,
    local: Annotated[
        bool, typer.Option(help="Time the parts of a round trip on this host, too.")
    ] = True,
    published: Annotated[
        bool, typer.Option("--published", help="The published measurements beside ours.")
    ] = False,
    rounds: options.Rounds = 7,
    seed: options.Seed = 1,
    json: Annotated[Path | None, options.result_file("sizes")] = None,
    quiet: options.Quiet = False,
    notes: options.Notes = False,
    link: options.Link = None,
    link_backend: options.LinkBackend = DEFAULT_BACKEND,
    pin: options.Pin = None,
    congestion_control: options.CongestionControl = None,
    probe: options.Probe = None,
    awake: options.Awake = False,
    wait: options.Wait = False,
    timeout: Annotated[str, typer.Option(help="A run that takes longer fails.")] = "60s",
) -> int:
    """A connection per sample: time by size and round trips, and the model that explains it."""
    for each in strategy or []:
        if each not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise UsageError(f"unknown strategy {each!r}: the ones of sizes are {known}")
    links = options.links(link, link_backend, server)
    asked = SizesOptions(
        sizes_bytes=parse_sizes(sizes),
        round_trips=parse_round_trips(round_trips),
        setup_writes=[between("--setup-writes", count, 1, 2) for count in setup_writes or [2]],
        strategies=strategy or ["nodelay"],
        samples=between("--samples", samples, 100, 1_000_000),
        first_samples=between("--first", first, 1, 1_000_000),
        predicted_bytes=[parse_bytes(text) for text in predict or []],
        server=None if server is None else "{}:{}".format(*server_address(server)),
        has_local=local,
        timeout_ns=parse_duration_ns(timeout),
        **options.shared(rounds, seed, links, pin, congestion_control, probe),
    )
    check_sample_bytes(asked.sizes_bytes, asked.round_trips)
    destination = options.destination("sizes", json)
    # The parts of a local round trip are on no link: once is enough.
    plan = links.planned(
        asked, lambda each: plan_sizes(replace(each, has_local=local and each.link == asked.link))
    )
    return measure(
        plan,
        SizesBench(asked.seed).run_case,
        destination,
        is_published=published,
        is_quiet=quiet,
        with_notes=notes,
        is_awake=awake,
        waits=wait,
        network=None if server is None else "the server's",
        check=lambda: check_server(
            None if server is None else server_address(server),
            *first_sample(asked.sizes_bytes, asked.round_trips),
            asked.timeout_ns,
        ),
    )
