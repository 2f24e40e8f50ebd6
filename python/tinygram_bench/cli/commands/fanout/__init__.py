"""`tinygram fanout`: one publisher, many subscribers, every way of writing to all side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import (
    between,
    check_descriptors,
    takes_turns,
)
from tinygram_bench.cli.commands.fanout.bounds import bounded
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
from tinygram_bench.cli.options.rates import Arrival, rate_option, rates_asked
from tinygram_bench.cli.options.sweep import (
    LimitOption,
    asked_sweep,
    planned_at,
    sweep_option,
    usual_strategies,
    with_hold,
)
from tinygram_bench.links import DEFAULT_BACKEND
from tinygram_bench.model.strategies import examples_of_strategies
from tinygram_bench.model.sweep import Parameter
from tinygram_bench.workloads.fanout.cases import FanoutOptions, plan_fanout
from tinygram_bench.workloads.fanout.order import MOST_BYTES
from tinygram_bench.workloads.fanout.publishing import PUBLISHERS
from tinygram_bench.workloads.fanout.run import Fanout

_VARIED: Mapping[Parameter, Callable[[FanoutOptions, float], FanoutOptions]] = {
    "rate": lambda each, rate: replace(each, rates_per_s=[rate]),
    "size": lambda each, size: replace(each, message_bytes=int(size)),
    "hold": with_hold,
}
_MOST_SUBSCRIBERS = 10_000
_USUAL_BYTES = 100
_MOST_BURST = 1_000


def fanout(
    subscribers: Annotated[
        list[int] | None,
        quantities.count("Number of subscribers, with one connection each (repeatable).", "1000"),
    ] = None,
    rate: Annotated[
        list[float] | None,
        rate_option(
            "Publications", "the next one is published when the last one was handed over to all"
        ),
    ] = None,
    size: Annotated[
        int | None,
        quantities.size("Message size: 16 bytes or more.", str(_USUAL_BYTES), MOST_BYTES),
    ] = None,
    arrival: Arrival = None,
    burst: Annotated[
        int, quantities.count("Publications at the same instant, each a message of its own.", "1")
    ] = 1,
    duration: Annotated[int | None, duration_option("1s")] = None,
    slice: Annotated[
        int | None, slice_option("20ms, longer where publications take longer")
    ] = None,
    lone: Lone = False,
    every: Annotated[
        bool, typer.Option("--all", help="Measure every publisher with every strategy.")
    ] = False,
    strategy: Annotated[
        list[str] | None,
        options.names(
            "STRATEGY",
            "Strategy of the publisher, such as nodelay or tick",
            "the usual ones of each publisher",
            examples_of_strategies,
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        options.names(
            "RUNTIME",
            "Runtime of the publisher, such as asyncio",
            "all of them",
            lambda: sorted({each.runtime for each in PUBLISHERS}),
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        options.names(
            "PUBLISHER",
            "server=NAME,implementation=NAME,…, or a publisher as the tables name it, such as "
            "asyncio/streams",
        ),
    ] = None,
    sweep: Annotated[list[str] | None, sweep_option()] = None,
    limit: LimitOption = None,
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
    server: options.FarServer = None,
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
    swept = asked_sweep(
        sweep,
        never_with={},
        set_by_sweep={"rate": {"--rate": bool(rate)}, "size": {"--size": size is not None}},
        limit=limit,
        is_paced=bool(rate),
    )
    sweeps_rates = swept is not None and swept.parameter == "rate"
    counts = [
        between("--subscribers", each, 1, _MOST_SUBSCRIBERS) for each in subscribers or [1000]
    ]
    between("--burst", burst, 1, _MOST_BURST)
    # Slices hold few publications, and a case that falls behind catches up in the others' slices.
    alone = {"--lone": lone, "--probe": probe is not None, "--sweep rate": sweeps_rates}
    far = options.far_end(server, is_ours=True)
    links = options.links(link, link_backend, far=far)
    asked_length = length(rounds, until, max_time)
    asked = FanoutOptions(
        subscribers=counts,
        message_bytes=_USUAL_BYTES if size is None else size,
        rates_per_s=rates_asked(rate, arrival, swept),
        arrival=arrival or "constant",
        burst=burst,
        duration_ns=10**9 if duration is None else duration,
        slice_ns=slice,
        takes_turns=takes_turns(slice, alone),
        timeout_ns=timeout,
        has_all=every,
        only=only or [],
        runtimes=runtime or [],
        strategies=strategy or usual_strategies(swept, only),
        **options.shared(asked_length.rounds, seed, links, pin, congestion_control, probe),
    )
    check_descriptors("--subscribers", plan_fanout(asked))
    destination = options.destination("fanout", json, resume, anonymous)
    manner = options.manner(quiet, published=False, notes=notes, awake=awake, wait=wait, far=far)
    workload = Fanout(asked.seed)
    if swept is not None:
        plan_at = planned_at(asked, links, bounded, swept, _VARIED)
        return swept.asked_with(asked_length, plan_at, links, workload, destination, manner)
    plan = asked_length.of(links.planned(asked, bounded))
    return Asked(plan, workload, destination, manner)
