"""`tinygram fanout`: one publisher, many subscribers, every way of writing to all side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import (
    between,
    check_descriptors,
    one_of,
    slice_length_ns,
    takes_turns,
)
from tinygram_bench.cli.commands.fanout.bounds import check_rate
from tinygram_bench.cli.length import MaxTime, MostRounds, Until, length
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.links import DEFAULT_BACKEND
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.strategies import examples_of_strategies
from tinygram_bench.model.units import format_bytes
from tinygram_bench.workloads.fanout.cases import FanoutOptions, least_slice_ns, plan_fanout
from tinygram_bench.workloads.fanout.publishing import PUBLISHERS
from tinygram_bench.workloads.fanout.run import Fanout

_ARRIVALS = ("constant", "poisson")
_MOST_SUBSCRIBERS = 10_000
_LEAST_BYTES, _MOST_BYTES = 16, 1 << 20
_MOST_BYTES_AT_ONCE = 256 << 20
_MOST_BURST = 1_000


def fanout(
    subscribers: Annotated[
        list[int] | None,
        quantities.count("Number of subscribers, with one connection each (repeatable).", "1000"),
    ] = None,
    rate: Annotated[
        list[float] | None,
        quantities.rate(
            "Publications per second (repeatable). Without it, the next one is published when the "
            "last one was handed over to all."
        ),
    ] = None,
    size: Annotated[
        int, quantities.size("Message size: 16 bytes or more.", "100", _MOST_BYTES)
    ] = 100,
    arrival: Annotated[
        str | None,
        typer.Option(
            metavar="PROCESS",
            help="How publications arrive, with --rate: constant or poisson.",
            show_default="constant",
            autocompletion=lambda: list(_ARRIVALS),
        ),
    ] = None,
    burst: Annotated[
        int, quantities.count("Publications at the same instant, each a message of its own.", "1")
    ] = 1,
    duration: Annotated[int | None, quantities.duration("Duration of each run.", "1s")] = None,
    slice: Annotated[
        int | None,
        quantities.duration(
            "Length of a case's turns beside the other cases of its load.",
            "20ms, longer where publications take longer",
        ),
    ] = None,
    lone: options.Lone = False,
    every: Annotated[
        bool, typer.Option("--all", help="Measure every publisher with every strategy.")
    ] = False,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STRATEGY",
            help="Strategy of the publisher, such as nodelay or tick (repeatable).",
            show_default="the usual ones of each publisher",
            autocompletion=examples_of_strategies,
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUNTIME",
            help="Runtime of the publisher, such as asyncio (repeatable).",
            show_default="all of them",
            autocompletion=lambda: sorted({each.runtime for each in PUBLISHERS}),
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PUBLISHER",
            help="server=NAME,implementation=NAME,…, or a publisher as the tables name it, such as "
            "asyncio/streams (repeatable).",
        ),
    ] = None,
    rounds: MostRounds = None,
    until: Until = None,
    max_time: MaxTime = None,
    seed: options.Seed = 1,
    json: Annotated[Path | None, options.result_file("fanout")] = None,
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
            "Time limit for each run, beyond its duration, and for a subscriber that takes "
            "nothing.",
            "30s",
        ),
    ] = 30 * 10**9,
) -> Asked:
    """Publish the same messages to many subscribers in every way; each byte is compared."""
    counts = [
        between("--subscribers", each, 1, _MOST_SUBSCRIBERS) for each in subscribers or [1000]
    ]
    between("--burst", burst, 1, _MOST_BURST)
    between("--size", size, _LEAST_BYTES, _MOST_BYTES)
    if max(counts) * size * burst > _MOST_BYTES_AT_ONCE:
        raise UsageError(
            f"--subscribers {max(counts)} with messages of {format_bytes(size)}: what is published "
            "at an instant may be 256 MiB to all together, so ask for fewer subscribers or smaller "
            "messages"
        )
    rates_per_s = [float(each) for each in rate or []]
    if arrival is not None:
        one_of("--arrival", arrival, _ARRIVALS)
        if not rates_per_s:
            raise UsageError("--arrival needs a schedule: add --rate, for example --rate 100")
    duration_ns = 10**9 if duration is None else duration
    for each in rates_per_s:
        check_rate(each, burst, duration_ns, max(counts))
    has_turns = takes_turns(slice, {"--lone": lone, "--probe": probe is not None})
    links = options.links(link, link_backend)
    asked_length = length(rounds, until, max_time)
    asked = FanoutOptions(
        subscribers=counts,
        message_bytes=size,
        rates_per_s=rates_per_s,
        arrival=arrival or "constant",
        burst=burst,
        duration_ns=duration_ns,
        slice_ns=slice,
        takes_turns=has_turns,
        timeout_ns=timeout,
        has_all=every,
        only=only or [],
        runtimes=runtime or [],
        strategies=strategy or [],
        **options.shared(asked_length.rounds, seed, links, pin, congestion_control, probe),
    )
    check_descriptors("--subscribers", plan_fanout(asked))
    destination = options.destination("fanout", json, resume, anonymous)
    manner = options.manner(quiet, published=False, notes=notes, awake=awake, wait=wait)
    plan = asked_length.of(links.planned(asked, plan_fanout))
    if slice is not None:
        least_ns = math.ceil(max(map(least_slice_ns, plan.cases)))
        slice_length_ns(slice, duration_ns, least_ns, "publications of these loads")
    return Asked(plan, Fanout(asked.seed), destination, manner)
