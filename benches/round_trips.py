"""Round trips with both ends on one loop, as aiofastnet's own benchmark makes them, with ours too.

One message is in flight, and comes back whole: of the sizes that aiofastnet has, over TLS and
without, written at once, or by 16 calls of `write`. Beside each loop as it is are the library and
aiofastnet on it. All take turns in slices in one process (round_trips_by_turns.py), which each
round starts afresh. Shown are the round trips in a second of CPU time of the loop as it is, and how
many times those the others make: of each round the median over its cycles, and of these the median
and its interval. Asked is that the library makes as many as aiofastnet over TLS.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from library.sides.sending import CONGESTION_CONTROL
from pairs import at_least, show_environment, shown
from published.stored import Asked, Cell, Column, Row, figure
from published.tables import lines_of
from published.telling import asked_into, store, tell
from round_trips_by_turns import AIOFASTNET, DIRECTLY, LOOPS, TINYGRAM, WAYS, Load

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of

SIZES = (256, 8_192, 32_768, 100_000)
_WRITES = {"whole": 1, "parts": 16}
_KINDS = {"tls": True, "plain": False}
_ROUNDS, _CYCLES = 7, 10
_LIMIT_S = 600
_LEAST = 1.0
Costs = Mapping[tuple[str, Load], Sequence[Sequence[float]]]
"""CPU time in ns a round trip of a way and a load: of each round, and of each of its slices."""


def main() -> int:
    into = asked_into(__doc__)
    with cores_awake():
        show_environment(CONGESTION_CONTROL)
        loads = [
            Load(is_tls, writes, size)
            for is_tls in _KINDS.values()
            for writes in _WRITES.values()
            for size in SIZES
        ]
        return told(measured(loads, _ROUNDS, _CYCLES), SIZES, into)


def measured(loads: Sequence[Load], rounds: int, cycles: int) -> Costs:
    """The cost of every slice of all ways."""
    found: dict[tuple[str, Load], list[list[float]]] = defaultdict(list)
    for round in range(rounds):
        printed = subprocess.run(
            [sys.executable, "-m", "round_trips_by_turns", *map(str, (round, cycles, *loads))],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
            timeout=_LIMIT_S,
            check=True,
        ).stdout
        slices: dict[tuple[str, Load], list[float]] = defaultdict(list)
        for line in printed.splitlines():
            way, load, slice_ns = json.loads(line)
            slices[way, Load.of(load)].append(slice_ns)
        for of_one, costs in slices.items():
            found[of_one].append(costs)
    return found


def told(costs: Costs, sizes: Sequence[int], into: Path | None = None) -> int:
    """Print and store all tables; 0 where the library makes all that is asked of it, else 1."""
    columns = [Column(f"{size:,} B", str(size), 2) for size in sizes]
    for shape, writes in _WRITES.items():
        for kind, is_tls in _KINDS.items():
            loads = [Load(is_tls, writes, size) for size in sizes]
            rows = [_row(costs, way, loads) for way in WAYS]
            first = f"{'over TLS' if is_tls else 'without TLS'}, {_in_writes(writes)}"
            print(f"\n{lines_of(first, columns, rows)}\n", flush=True)
            _store(into, f"round-trips-{shape}-{kind}", first, columns, rows)
    rows = [
        _beside(costs, loop, Load(True, writes, size))
        for loop in LOOPS
        for writes in _WRITES.values()
        for size in sizes
    ]
    first = "over TLS, the library ÷ aiofastnet"
    return _store(into, "round-trips-beside", first, [Column("round trips", "ratio", 2)], rows)


def _row(costs: Costs, way: str, loads: Sequence[Load]) -> Row:
    loop = way.partition("/")[0]
    cells: dict[str, Cell] = {}
    for load in loads:
        if way == loop + DIRECTLY:
            rate = figure_of([1e9 / median(of_round) for of_round in costs[way, load]])
            cells[str(load.message_bytes)] = figure(rate, "/s", 0)
        else:
            cells[str(load.message_bytes)] = figure(times(costs, way, loop, load))
    return Row(f"`{way}`", cells)


def _beside(costs: Costs, loop: str, load: Load) -> Row:
    found = times(costs, loop + TINYGRAM, loop + AIOFASTNET, load)
    what = f"{loop}, {load.message_bytes:,} B, {_in_writes(load.writes)}"
    row = Row(what, {"ratio": figure(found)}, Asked(_LEAST), at_least(found, _LEAST))
    return tell(row, f"{shown(found)}, asked {_LEAST:g}")


def times(costs: Costs, way: str, other: str, load: Load) -> Figure:
    """How many times the round trips of another way this one makes, slice beside slice."""
    pairs = zip(costs[way, load], costs[other, load], strict=True)
    return figure_of([median(_ratios(*of_round)) for of_round in pairs])


def _ratios(own: Sequence[float], others: Sequence[float]) -> Iterator[float]:
    return (theirs_ns / own_ns for own_ns, theirs_ns in zip(own, others, strict=True))


def _in_writes(writes: int) -> str:
    return "in one write" if writes == 1 else f"in {writes} writes"


def _store(
    into: Path | None, name: str, first: str, columns: Sequence[Column], rows: Sequence[Row]
) -> int:
    tls = ssl.OPENSSL_VERSION
    return store(into, "round_trips", name, first, columns, rows, CONGESTION_CONTROL, tls)


if __name__ == "__main__":
    sys.exit(main())
