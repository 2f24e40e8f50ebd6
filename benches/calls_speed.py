"""The native caller makes as many calls as the same loop in C (connection_per_request.c).

One client thread, a connection for each request, both against one native server on another core;
each side runs once per round, in random order. Asked: 0.95 times the calls of C.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pairs import SEED, measured, show_environment, shown, side_by_side, verdict

from tinygram.bench.placement import default_placement, placement
from tinygram.bench.statistics.intervals import figure_of
from tinygram.bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram.bench.workloads.rr.run import RrBench

_ROUNDS = 15
_CALLS = 8_000
_REQUEST_BYTES, _REPLY_BYTES = 100, 2
_ASKED = 0.95
_SOURCE = Path(__file__).with_name("connection_per_request.c")


def main() -> int:
    show_environment("cubic")
    with tempfile.TemporaryDirectory() as folder, _server() as port:
        program = Path(folder) / "connection_per_request"
        subprocess.run(["cc", "-O2", "-o", program, _SOURCE], check=True)
        sides = {"ours": lambda: _ours_ns(port), "c": lambda: _c_ns(program, port)}
        costs = side_by_side(sides, _ROUNDS)
    pairs = zip(costs["c"], costs["ours"], strict=True)
    ratio = figure_of([c_ns / ours_ns for c_ns, ours_ns in pairs])
    is_reached = ratio.median >= _ASKED
    what = "calls on a connection each, one thread, against C"
    return 0 if verdict(what, is_reached, f"{shown(ratio)}, asked {_ASKED}") else 1


@contextmanager
def _server() -> Iterator[int]:
    """A native server on the receiver's core; its port."""
    command = [sys.executable, "-m", "tinygram.bench", "serve", "rr"]
    process = subprocess.Popen(
        [*command, "--request", str(_REQUEST_BYTES), "--reply", str(_REPLY_BYTES)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[1])
        cpu = placement(default_placement()).receiver_cpu
        if cpu is not None:
            os.sched_setaffinity(process.pid, {cpu})
        yield port
    finally:
        process.kill()
        process.wait()


def _ours_ns(port: int) -> float:
    """Nanoseconds per call, of one native caller."""
    options = RrOptions(
        runtimes=("native",),
        strategies=("nodelay",),
        connections=("per-request",),
        sends_per_request=(1,),
        server_address=("127.0.0.1", port),
        request_bytes=_REQUEST_BYTES,
        reply_bytes=_REPLY_BYTES,
        processes=1,
        callers=1,
        warm_up_calls=100,
        calls=_CALLS,
        placement=default_placement(),
        rounds=1,
        seed=SEED,
    )
    (case,) = plan_rr(options).cases
    counters = measured(RrBench(SEED).run_case(case, 0))
    return counters["callers_time_ns"] / counters["calls"]


def _c_ns(program: Path, port: int) -> float:
    """The same in C, on the same core."""
    cpu = placement(default_placement()).sender_cpu
    words = [program, *map(str, (port, _CALLS, _REQUEST_BYTES, _REPLY_BYTES))]
    pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
    done = subprocess.run([*pinned, *words], check=True, capture_output=True, text=True)
    return int(done.stdout) / _CALLS


if __name__ == "__main__":
    sys.exit(main())
