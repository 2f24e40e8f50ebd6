"""A short connection costs hardly more than on the event loop below.

Connect, a message there and back, close: on the loop as it is and on the drop-in over it, slice by
slice in one process (connects_by_turns.py), as a client and as a server. A row is the median ratio
of the pairs of slices and its interval, of connections a second and of the CPU time of the loops'
thread. `--rounds` says how many pairs there are. The exit status is 0 when every row is reached.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from library.connects_by_turns import ROLES, SIDES
from library.sides.sending import CONGESTION_CONTROL
from pairs import at_least, show_environment, shown
from published.stored import Asked, Column, Row, figure
from published.telling import store, take_into, tell

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.statistics.figures.intervals import figure_of

_LOOPS = ("asyncio", "uvloop")
_LIMIT_S = 300
_LEAST = 0.95
_COLUMNS = (Column("ratio", "ratio", 3), Column("CPU ratio", "cpu_ratio", 3))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    take_into(parser)
    asked = parser.parse_args()
    show_environment(CONGESTION_CONTROL)
    rows = [row for loop in _LOOPS for row in _compare(loop, asked.rounds)]
    return store(asked.into, "library.connects", "connects", "row", _COLUMNS, rows)


def _compare(loop: str, rounds: int) -> list[Row]:
    slices: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    printed = subprocess.run(
        [sys.executable, "-m", "library.connects_by_turns", loop, str(rounds)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        text=True,
        timeout=_LIMIT_S,
        check=True,
    ).stdout
    for line in printed.splitlines():
        side, role, took_ns, cpu_ns = json.loads(line)
        slices[role, side].append((took_ns, cpu_ns))
    rows = []
    for role in ROLES:
        pairs = list(zip(*(slices[role, side] for side in SIDES), strict=True))
        speed = figure_of([base[0] / ours[0] for base, ours in pairs])
        cpu = figure_of([ours[1] / base[1] for base, ours in pairs])
        what = f"{loop}, connections a second as a {role} ÷ the loop's own"
        figures = f"{shown(speed)}, asked {_LEAST}; CPU × {shown(cpu)}, {len(pairs)} pairs"
        row = Row(
            what,
            {"ratio": figure(speed), "cpu_ratio": figure(cpu)},
            Asked(at_least=_LEAST),
            at_least(speed, _LEAST),
        )
        rows.append(tell(row, figures))
    return rows


if __name__ == "__main__":
    with cores_awake():
        sys.exit(main())
