"""Large messages and idle connections cost no more than on the event loop below.

Write and drain of one size after another, on the loop as it is and on the drop-in over it, slice by
slice in one process (large_by_turns.py): a row is the median ratio of the pairs of slices and its
interval, of the time, and of the CPU time of the thread that writes. Memory is of other processes
(memory.py): the most that 200 MB without drain take, and what an idle connection does.
`--rounds` says how many slices of each there are, `--memory-rounds` how many processes. The exit
status is 0 when every row is reached.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from library.sides.sending import CONGESTION_CONTROL
from pairs import at_least, at_most, show_environment, shown, side_by_side
from published.stored import Asked, Cell, Column, Row, figure
from published.telling import store, take_into, tell

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.statistics.figures.intervals import figure_of

_LOOPS = ("asyncio", "uvloop")
_SIZES = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20)
_LIMIT_S = 300
_FASTEST_LOSS = 0.98
_MOST_MEMORY = 1.1
_MOST_IDLE_BYTES = 1_000
_COLUMNS = (
    Column("ratio, or difference", "ratio", 3),
    Column("CPU ratio, or ours and the loop's own", "cpu_ratio", 3),
)
_BENCHES = Path(__file__).parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--memory-rounds", type=int, default=7)
    take_into(parser)
    asked = parser.parse_args()
    show_environment(CONGESTION_CONTROL)
    rows = []
    for loop in _LOOPS:
        rows += _compare_sizes(loop, asked.rounds)
        rows += _compare_memory(loop, asked.memory_rounds)
    return store(asked.into, "library.large_writes", "large-writes", "row", _COLUMNS, rows)


def _compare_sizes(loop: str, rounds: int) -> list[Row]:
    slices: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for line in _output("large_by_turns", loop, rounds, *_SIZES).splitlines():
        side, size, took_ns, cpu_ns = json.loads(line)
        slices[side, size].append((took_ns, cpu_ns))
    return [
        _told(loop, size, slices["directly", size], slices["tinygram", size]) for size in _SIZES
    ]


def _told(
    loop: str, size: int, base: Sequence[tuple[int, int]], ours: Sequence[tuple[int, int]]
) -> Row:
    pairs = list(zip(base, ours, strict=True))
    speed = figure_of([theirs[0] / own[0] for theirs, own in pairs])
    cpu = figure_of([own[1] / theirs[1] for theirs, own in pairs])
    what = f"{loop}, write and drain of {size >> 10} KiB, speed ÷ the loop's own"
    figures = f"{shown(speed)}, asked {_FASTEST_LOSS}; CPU × {shown(cpu)}, {len(pairs)} pairs"
    cells: dict[str, Cell] = {"ratio": figure(speed), "cpu_ratio": figure(cpu)}
    row = Row(what, cells, Asked(at_least=_FASTEST_LOSS), at_least(speed, _FASTEST_LOSS))
    return tell(row, figures)


def _compare_memory(loop: str, rounds: int) -> list[Row]:
    ways = ("directly", "tinygram")
    peaks = side_by_side({way: partial(_bytes, "peak", loop, way) for way in ways}, rounds)
    idle = side_by_side({way: partial(_bytes, "idle", loop, way) for way in ways}, rounds)
    ratio = figure_of([b / a for a, b in zip(peaks["directly"], peaks["tinygram"], strict=True)])
    more = figure_of([b - a for a, b in zip(idle["directly"], idle["tinygram"], strict=True)])
    megabytes = [f"{figure_of(peaks[way]).median / 1e6:.0f} MB" for way in ways[::-1]]
    sizes = [f"{figure_of(idle[way]).median:,.0f} bytes" for way in ways[::-1]]
    return [
        tell(
            Row(
                f"{loop}, peak of memory, 200 messages of 1 MB without drain ÷ the loop's own",
                {"ratio": figure(ratio), "cpu_ratio": [*megabytes]},
                Asked(at_most=_MOST_MEMORY),
                at_most(ratio, _MOST_MEMORY),
            ),
            f"{shown(ratio)}, asked at most {_MOST_MEMORY}; {' and '.join(megabytes)}",
        ),
        tell(
            Row(
                f"{loop}, memory of an idle connection − the loop's own",
                {"ratio": figure(more, "bytes", 0), "cpu_ratio": [*sizes]},
                Asked(at_most=_MOST_IDLE_BYTES),
                at_most(more, _MOST_IDLE_BYTES),
            ),
            f"{more.median:,.0f} bytes ({more.low:,.0f}-{more.high:,.0f}), asked at most "
            f"{_MOST_IDLE_BYTES:,}; {' and '.join(sizes)}",
        ),
    ]


def _bytes(what: str, loop: str, way: str) -> float:
    return float(_output("memory", what, loop, way))


def _output(module: str, *arguments: object) -> str:
    """The output of `python -m library.MODULE`."""
    return subprocess.run(
        [sys.executable, "-m", f"library.{module}", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(_BENCHES)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=_LIMIT_S,
        check=True,
    ).stdout


if __name__ == "__main__":
    with cores_awake():
        sys.exit(main())
