"""The options that the measuring commands have alike, each declared once, and their checks."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from tinygram.bench import store
from tinygram.bench.cli.bounds import between, probe_interval_ns
from tinygram.bench.crosscheck.control import common_congestion_control
from tinygram.bench.errors import UsageError
from tinygram.bench.network import DEFAULT_CONGESTION_CONTROL, check_congestion_control
from tinygram.bench.placement import default_placement, placement

Rounds = Annotated[int, typer.Option(help="Runs of each case; six are needed for verdicts.")]
Seed = Annotated[int, typer.Option(help="Of what is sent, and of the order.")]
Quiet = Annotated[bool, typer.Option(help="No progress and no tables.")]
Link = Annotated[str, typer.Option(help="What lies between: loopback.")]
Pin = Annotated[str | None, typer.Option(help="apart, same or none.", show_default="apart")]
Probe = Annotated[
    str | None, typer.Option(help="Sample what the kernel holds this often, for example 10ms.")
]
Awake = Annotated[
    bool, typer.Option("--awake", help="Keep idle cores from sleeping meanwhile; needs root.")
]
Server = Annotated[str | None, typer.Option(help="HOST:PORT of a server that runs already.")]


def result_file(workload: str) -> Any:
    """`--json` of a workload's command."""
    path = f"results/<UTC time>-{workload}.json"
    return typer.Option(help="The result file.", show_default=path)


class Shared(TypedDict):
    """What the options of every workload hold under these names."""

    congestion_control: str
    link: str
    placement: str
    probe_ns: int | None
    rounds: int
    seed: int


def shared(
    rounds: int,
    seed: int,
    link: str,
    pin: str | None,
    congestion_control: str | None,
    probe: str | None,
    *,
    is_cross_check: bool = False,
) -> Shared:
    """What was asked for, the defaults in place of None. Raises UsageError.

    `is_cross_check`: the congestion control must be one that other programs can be given.
    """
    if link != "loopback":
        raise UsageError(f"unknown link {link!r}: the known one is loopback")
    pin = default_placement() if pin is None else pin
    placement(pin)
    control = (
        common_congestion_control(congestion_control)
        if is_cross_check
        else congestion_control or DEFAULT_CONGESTION_CONTROL
    )
    check_congestion_control(control)
    return Shared(
        congestion_control=control,
        link=link,
        placement=pin,
        probe_ns=probe_interval_ns(probe),
        rounds=between("--rounds", rounds, 1, 10_000),
        seed=between("--seed", seed, 0, (1 << 63) - 1),
    )


def result_path(workload: str, asked: Path | None) -> Path:
    """Where the result goes. Raises OutputError where nothing can be written there."""
    path = asked or store.default_path(workload, datetime.now(UTC))
    store.check_writable(path)
    return path
