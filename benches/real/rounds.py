"""What both scripts of `make bench-real` share: conditions, rounds, verdicts."""

from __future__ import annotations

import argparse
import platform
import random
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Generic, TypeVar

from pairs import SEED
from published import stored
from published.telling import take_into

from tinygram_bench.host.network import Network
from tinygram_bench.host.placement import default_placement, placement
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.verdicts.comparison import judge

BASES = ("asyncio", "uvloop")
CALLS_THAT_WRITE = "trace=write,writev,sendto,sendmsg,sendmmsg"
"""The calls that strace traces (`-e`), with `-yy`: `WRITE` finds the writes to connections."""
WRITE = re.compile(r"(?:write|writev|sendto|sendmsg|sendmmsg)\(\d+<TCP\S*\[.*\) = [1-9]\d*$")
_ROUNDS = 7
_DEFAULT_CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_CONGESTION_CONTROL = "reno"
"""It does not pace, and is the one that every kernel lets every network namespace have."""
V = TypeVar("V")


@dataclass
class Row(Generic[V]):
    """The figures of one load, by name, on a base loop and on ours over it."""

    name: str
    base: str
    pairs: list[tuple[V, V]] = field(default_factory=list)
    """(base, ours) of each round."""
    counted: tuple[float | None, float | None] = (None, None)
    """What strace counted on both; None: there is no strace."""

    @property
    def loops(self) -> tuple[str, str]:
        return f"stock-{self.base}", f"tinygram-{self.base}"


def chosen(known: Collection[str]) -> tuple[list[str], Path | None]:
    """The names on the command line, all that are known where there is none; and `--into`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    take_into(parser)
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(known):
        sys.exit(f"unknown: {', '.join(unknown)}; the known ones are {', '.join(known)}")
    if asked.into and asked.names:
        parser.error("--into stores all rows: leave the names out")
    return asked.names or list(known), asked.into


def two_cores() -> tuple[int, int]:
    """The core of what is measured, and another."""
    cpus = placement(default_placement())
    assert cpus.sender_cpu is not None
    assert cpus.receiver_cpu is not None
    return cpus.sender_cpu, cpus.receiver_cpu


def print_conditions(network: Network, packages: Sequence[str]) -> None:
    """Also pins the congestion control, which the programs leave to their network's default."""
    if network.is_private:
        _DEFAULT_CONGESTION_CONTROL.write_text(_CONGESTION_CONTROL)
        remark = "pinned"
    else:
        remark = "the host's: it is pinned only for root, in a network namespace"
    control = _DEFAULT_CONGESTION_CONTROL.read_text().strip()
    print(f"{_conditions(packages)}; congestion control {control} ({remark}).\n", flush=True)


def _conditions(packages: Sequence[str]) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"Linux {platform.release()}, Python {platform.python_version()}, {versions}; "
        f"{_ROUNDS} rounds"
    )


def measure_in_pairs(rows: Sequence[Row[V]], measure: Callable[[str, str], V]) -> None:
    """Call `measure(name, loop)` on both loops of every row in each round, in random order.

    Which loop is the first alternates from round to round.
    """
    order = random.Random(SEED)
    for round in range(_ROUNDS + 1):
        print(f"round {round} of {_ROUNDS}", file=sys.stderr)
        for row in order.sample(rows, len(rows)):
            loops = row.loops if round % 2 else row.loops[::-1]
            found = {loop: measure(row.name, loop) for loop in loops}
            if round:  # the first fills caches
                base, ours = row.loops
                row.pairs.append((found[base], found[ours]))


def counted(row: Row[V]) -> list[str | float | stored.Figure]:
    """What was counted on the base, and on ours."""
    return ["-" if each is None else each for each in row.counted]


def table_of(
    bench: str,
    packages: Sequence[str],
    first: str,
    columns: Sequence[stored.Column],
    rows: Sequence[stored.Row],
) -> stored.Table:
    """A table of what was just measured with these packages."""
    return stored.measured(bench, _conditions(packages), first, columns, rows)


def verdict_on(throughput: Figure) -> str:
    """What ours ÷ base says, in words."""
    return judge(throughput, "messages_per_s").replace("_", " ")
