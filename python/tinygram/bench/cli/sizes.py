"""`tinygram sizes`: message size against latency and bandwidth."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tinygram.bench import store
from tinygram.bench.cli.bounds import between, probe_interval_ns, server_address
from tinygram.bench.cli.measuring import measure
from tinygram.bench.errors import UsageError
from tinygram.bench.network import check_congestion_control
from tinygram.bench.placement import default_placement, placement
from tinygram.bench.units import parse_bytes, parse_duration_ns
from tinygram.bench.workloads.sizes.cases import (
    STRATEGIES,
    SizesOptions,
    check_sample_bytes,
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
    server: Annotated[
        str | None, typer.Option(help="HOST:PORT of a server that runs already, of any program.")
    ] = None,
    local: Annotated[
        bool, typer.Option(help="Time the parts of a round trip on this host, too.")
    ] = True,
    published: Annotated[
        bool, typer.Option("--published", help="The published measurements beside ours.")
    ] = False,
    rounds: Annotated[int, typer.Option(help="Runs of each; six are needed for verdicts.")] = 7,
    seed: Annotated[int, typer.Option(help="Of the messages' bytes and of the order.")] = 1,
    json: Annotated[
        Path | None,
        typer.Option(help="The result file.", show_default="results/<UTC time>-sizes.json"),
    ] = None,
    quiet: Annotated[bool, typer.Option(help="No progress and no tables.")] = False,
    link: Annotated[str, typer.Option(help="What lies between: loopback.")] = "loopback",
    pin: Annotated[
        str | None, typer.Option(help="apart, same or none.", show_default="apart")
    ] = None,
    congestion_control: Annotated[str, typer.Option(help="Of the connections.")] = "cubic",
    probe: Annotated[
        str | None, typer.Option(help="Sample what the kernel holds this often, for example 10ms.")
    ] = None,
    timeout: Annotated[str, typer.Option(help="A run that takes longer fails.")] = "60s",
) -> int:
    """A connection per sample: time by size and round trips, and the model that explains it."""
    if link != "loopback":
        raise UsageError(f"unknown link {link!r}: the known one is loopback")
    for each in strategy or []:
        if each not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise UsageError(f"unknown strategy {each!r}: the ones of sizes are {known}")
    pin = default_placement() if pin is None else pin
    placement(pin)
    check_congestion_control(congestion_control)
    options = SizesOptions(
        sizes_bytes=parse_sizes(sizes),
        round_trips=parse_round_trips(round_trips),
        setup_writes=[between("--setup-writes", count, 1, 2) for count in setup_writes or [2]],
        strategies=strategy or ["nodelay"],
        samples=between("--samples", samples, 100, 1_000_000),
        first_samples=between("--first", first, 1, 1_000_000),
        predicted_bytes=[parse_bytes(text) for text in predict or []],
        server=None if server is None else "{}:{}".format(*server_address(server)),
        has_local=local,
        congestion_control=congestion_control,
        link=link,
        placement=pin,
        timeout_ns=parse_duration_ns(timeout),
        rounds=between("--rounds", rounds, 1, 10_000),
        seed=between("--seed", seed, 0, (1 << 63) - 1),
        probe_ns=probe_interval_ns(probe),
    )
    check_sample_bytes(options.sizes_bytes, options.round_trips)
    path = json or store.default_path("sizes", datetime.now(UTC))
    store.check_writable(path)
    return measure(
        plan_sizes(options),
        SizesBench(seed).run_case,
        path,
        congestion_control=congestion_control,
        is_published=published,
        is_quiet=quiet,
        network=None if server is None else "the server's",
    )
