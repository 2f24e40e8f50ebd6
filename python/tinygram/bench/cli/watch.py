"""`tinygram watch`: what the kernel holds of a port's or a process's connections and listeners."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from tinygram.bench.cli.bounds import duration_between_ns
from tinygram.bench.cli.exit_codes import ExitCode
from tinygram.bench.errors import UsageError
from tinygram.bench.watch.live import show_again_and_again, show_once
from tinygram.bench.watch.reading import Reader, TargetEndedError
from tinygram.bench.watch.targets import Target, parse_target

_INTERVAL_NS = 10_000_000, 3_600_000_000_000


def watch(
    target: Annotated[
        str, typer.Argument(metavar="PORT|PID", help="8080, or :8080 and pid:1234 to say which.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Once, not again and again.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="As JSON; without --once a line each time.")
    ] = False,
    interval: Annotated[str, typer.Option(help="How often, without --once.")] = "500ms",
) -> int:
    """Show queues, windows and timers of TCP connections, and listeners, as the kernel has them."""
    interval_ns = duration_between_ns("--interval", interval, *_INTERVAL_NS)
    reader = Reader(parse_target(target, _is_port_here))
    console = Console(highlight=False)
    if not once:
        show_again_and_again(reader, console, interval_ns, as_json=json)
        return ExitCode.OK
    try:
        show_once(reader, console, as_json=json)
    except TargetEndedError as ended:
        raise UsageError(f"{ended}: name one that runs") from ended
    return ExitCode.OK


def _is_port_here(port: int) -> bool:
    snapshot = Reader(Target(port=port)).read()
    return bool(snapshot.connections or snapshot.listeners)
