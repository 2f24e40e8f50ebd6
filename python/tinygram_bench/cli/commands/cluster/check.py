"""`tinygram cluster check`: the hosts of a cluster, and whether they can measure together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.terminal import console
from tinygram_bench.cluster import AUTO
from tinygram_bench.model.errors import UsageError
from tinygram_bench.report.numbers import number
from tinygram_bench.report.table import Column, Pen, Shown, table_of

if TYPE_CHECKING:
    from tinygram_bench.cluster.checking import SeenHost
    from tinygram_bench.cluster.order import PathFacts

_UNKNOWN = "?"
_SHOWN: tuple[Shown[SeenHost], ...] = (
    Shown(Column("host"), lambda seen: seen.node.host),
    Shown(Column("name", 5), lambda seen: seen.node.name),
    Shown(Column("cores\nfor us", 6), lambda seen: f"{seen.node.cores:g}"),
    Shown(Column("tinygram"), lambda seen: seen.facts.tinygram if seen.facts else _UNKNOWN),
    Shown(Column("Python", 4), lambda seen: seen.facts.python if seen.facts else _UNKNOWN),
    Shown(Column("kernel", 7), lambda seen: seen.facts.kernel if seen.facts else _UNKNOWN),
    # The clock is in the facts of the path from the first host.
    Shown(
        Column("clock\nµs"), lambda seen: _of(seen.from_first, lambda each: each.offset_ns / 1e3)
    ),
    Shown(
        Column("wrong by\nµs"), lambda seen: _of(seen.from_first, lambda each: each.bound_ns / 1e3)
    ),
    Shown(
        Column("RTT\nµs"), lambda seen: _of(seen.from_first, lambda each: each.round_trip_ns / 1e3)
    ),
    Shown(Column("to first\nMB/s", 2), lambda seen: _of(seen.to_first, _mb_per_s)),
    Shown(Column("from first\nMB/s", 2), lambda seen: _of(seen.from_first, _mb_per_s)),
)
_NOTES = (
    "clock: this host's minus the first one's, and by how much that may be wrong (half the "
    "shortest round trip); MB/s: a million bytes, one connection, a quarter of a second",
)


def check(
    cluster: Annotated[
        str, typer.Option(metavar="auto|HOST:PORT", help="Ray cluster that this host is a node of.")
    ] = AUTO,
) -> ExitCode:
    """Show the cluster's hosts, versions, clocks, round trips and bandwidths.

    Each host is looked at from the first one, for about a second. The status is 2 where hosts
    cannot measure together, and what must be mended is told.
    """
    # The packages that clusters need take long to import, and this package also has options.
    from tinygram_bench.cluster.checking import faults, remarks, seen
    from tinygram_bench.cluster.ray_hosts import reached

    with reached(cluster) as found:
        hosts = seen(found)
    pen = Pen(console(is_on_stderr=False))
    pen.draw(table_of("The cluster's hosts", _SHOWN, hosts, _NOTES))
    pen.list(remarks(hosts))
    told = list(faults(hosts))
    if told:
        raise UsageError(f"--cluster {cluster}: {'; '.join(told)}")
    return ExitCode.OK


def _of(path: PathFacts | None, value: Callable[[PathFacts], float]) -> str:
    return "" if path is None else number(value(path))


def _mb_per_s(path: PathFacts) -> float:
    return path.bytes_per_s / 1e6
