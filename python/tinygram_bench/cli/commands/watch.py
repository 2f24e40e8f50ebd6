"""`tinygram watch`: what the kernel holds of a port's or a process's connections and listeners."""

from __future__ import annotations

from typing import Annotated

import typer

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import duration_between_ns
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.terminal import console
from tinygram_bench.model.errors import UsageError
from tinygram_bench.watch.live import show_again_and_again, show_once
from tinygram_bench.watch.reading import Reader, TargetEndedError
from tinygram_bench.watch.targets import Target, parse_target

_INTERVAL_NS = 10_000_000, 3_600_000_000_000


def watch(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PORT|PID",
            help="A port or a process, such as 8080; :8080 is the port, pid:8080 the process.",
        ),
    ],
    once: Annotated[bool, typer.Option("--once", help="Print the table once and exit.")] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON: with --once one document, else a line for each table."
        ),
    ] = False,
    interval: Annotated[int, quantities.duration("Time between two tables.", "500ms")] = 500
    * 10**6,
) -> int:
    """Show queues, windows and timers of TCP connections, and listeners, as the kernel has them."""
    interval_ns = duration_between_ns("--interval", interval, *_INTERVAL_NS)
    reader = Reader(parse_target(target, _is_port_here))
    screen = console()
    if not once:
        show_again_and_again(reader, screen, interval_ns, as_json=json)
        return ExitCode.OK
    try:
        show_once(reader, screen, as_json=json)
    except TargetEndedError as ended:
        raise UsageError(f"{ended}: name a running one") from ended
    return ExitCode.OK


def _is_port_here(port: int) -> bool:
    snapshot = Reader(Target(port=port)).read()
    return bool(snapshot.connections or snapshot.listeners)
