"""Counting and timing writes costs the sender under 2 % of a write.

What the preloaded library adds to a call is measured where a call is cheapest, writing to /dev/null
from Python: a process with it and one without it take turns of a millisecond or two on one core,
and each round has fresh ones. It is set against the time that one write of the fastest row with a
write per message takes. (The rows' own throughput with and without counting differs by less than
its noise: a socket's two ends disturb each other.)
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

from pairs import SEED, bench, flat_out_case, measured, side_by_side, verdict

from tinygram_bench.host.write_counter import Counting
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of

_ROUNDS = 9
_TURNS = 200
_MESSAGES = 300_000
_CALLS = 5_000
_PROGRAM = f"""
import os, sys, time
from tinygram_bench import _native
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
fd = os.open(os.devnull, os.O_WRONLY)
_native.watch_writes([fd])
for _ in sys.stdin:
    counts = _native.write_counts()
    before = 0 if counts is None else counts[0]
    start_ns = time.monotonic_ns()
    for _ in range({_CALLS}):
        os.write(fd, b"x")
    took_ns = time.monotonic_ns() - start_ns
    counts = _native.write_counts()
    print(took_ns / {_CALLS}, 0 if counts is None else counts[0] - before, flush=True)
"""


def main() -> int:
    with bench() as stream:
        dice = random.Random(SEED)
        added_ns = figure_of([_added_ns(stream.counting, dice) for _ in range(_ROUNDS)])
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


def _added_ns(counting: Counting, dice: random.Random) -> float:
    """The time that counting adds to a call, in nanoseconds: the median over consecutive turns."""
    with ExitStack() as stack:
        sides = {
            name: stack.enter_context(_caller(given)).turn_ns
            for name, given in (("counted", counting), ("uncounted", None))
        }
        turns_ns = side_by_side(sides, _TURNS, dice)
    pairs = zip(turns_ns["counted"], turns_ns["uncounted"], strict=True)
    return median(counted - uncounted for counted, uncounted in pairs)


class _Caller:
    """A process that writes to /dev/null when it is asked to."""

    def __init__(self, process: subprocess.Popen[str], counted_calls: int) -> None:
        self._process = process
        self._counted_calls = counted_calls

    def turn_ns(self) -> float:
        """Nanoseconds of one os.write; its calls must be counted where that is asked."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("turn\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"it ended with {self._process.wait()}"
        took_ns, counted = line.split()
        assert int(counted) == self._counted_calls, counted
        return float(took_ns)


@contextmanager
def _caller(counting: Counting | None) -> Iterator[_Caller]:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        env=None if counting is None else counting.environment(),
        pass_fds=[] if counting is None else [counting.fd],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield _Caller(process, 0 if counting is None else _CALLS)


def _write_ns(counters: dict[str, int]) -> float:
    return counters["run_time_ns"] / counters["writes"]


if __name__ == "__main__":
    sys.exit(main())
