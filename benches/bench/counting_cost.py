"""Counting writes costs the sender under 2 % of a write.

What the preloaded library adds to a call is measured where a call is cheapest, writing to /dev/null
from Python, with and without it, in interleaved pairs of processes. It is set against the time that
one write of the fastest row with a write per message takes. (The rows' own throughput with and
without counting differs by less than its noise: a socket's two ends disturb each other.)
"""

from __future__ import annotations

import subprocess
import sys

from pairs import bench, flat_out_case, measured, verdict

from tinygram_bench.host.write_counter import Counting
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of

_PAIRS = 25
_MESSAGES = 300_000
_CALLS = 1_000_000
_PROGRAM = f"""
import os, time
from tinygram_bench import _native
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
fd = os.open(os.devnull, os.O_WRONLY)
_native.watch_writes(fd)
start_ns = time.monotonic_ns()
for _ in range({_CALLS}):
    os.write(fd, b"x")
took_ns = time.monotonic_ns() - start_ns
counts = _native.write_counts()
print(took_ns / {_CALLS}, 0 if counts is None else counts[0])
"""


def main() -> int:
    with bench() as stream:
        added_ns = figure_of([_call_ns(stream.counting) - _call_ns(None) for _ in range(_PAIRS)])
        write_ns = min(
            figure_of([_write_ns(measured(stream.run_case(case, 0))) for _ in range(7)]).median
            for case in (
                flat_out_case(
                    f"runtime={runtime},implementation={implementation},strategy=nodelay", _MESSAGES
                )
                for runtime, implementation in (("native", "tinygram"), ("loop", "stdlib"))
            )
        )
    share = Figure(*(value / write_ns for value in (added_ns.median, added_ns.low, added_ns.high)))
    figures = (
        f"{added_ns.median:.1f} ns ({added_ns.low:.1f}-{added_ns.high:.1f}) of {write_ns:.0f} ns: "
        f"{share.median:.2%} ({share.low:.2%}-{share.high:.2%}), asked below 2%"
    )
    return 0 if verdict("what counting adds to a write", share.high < 0.02, figures) else 1


def _call_ns(counting: Counting | None) -> float:
    """Nanoseconds of one os.write to /dev/null; its calls must be counted where that is asked."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=None if counting is None else counting.environment(),
        pass_fds=[] if counting is None else [counting.fd],
        check=True,
        capture_output=True,
        text=True,
    )
    took_ns, counted = done.stdout.split()
    assert int(counted) == (0 if counting is None else _CALLS), done
    return float(took_ns)


def _write_ns(counters: dict[str, int]) -> float:
    return counters["run_time_ns"] / counters["writes"]


if __name__ == "__main__":
    sys.exit(main())
