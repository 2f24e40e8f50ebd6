"""Keeping statistics costs under 2 % of a write.

What `stats()` needs is measured where nothing else is: the coalescer by itself, with and without
it (crates/net/examples/stats_cost.rs), and the one reading of the clock per write that nothing
else needs. It is set against what the sender's core spends on a write of `tinygram.batch` over
loopback: of a message at once, and of 64 that were held.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

from pairs import verdict

import tinygram
from tinygram_bench.host.placement import placement
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of

_ROUNDS = 15
_MESSAGE = bytes(100)
_WRITES = 20_000
_LIMIT_S = 20
_CASES = {"nodelay": (tinygram.nodelay, 1), "tick": (tinygram.tick, 64)}
_ROOT = Path(__file__).parents[2]


def main() -> int:
    added_ns: dict[str, list[float]] = {case: [] for case in _CASES}
    write_ns: dict[str, list[float]] = {case: [] for case in _CASES}
    with tempfile.TemporaryDirectory() as folder:
        counting, other = _built(folder), _built(folder, "without-stats")
        cpus = placement("apart")
        assert cpus.sender_cpu is not None
        os.sched_setaffinity(0, {cpus.sender_cpu})
        for _ in range(_ROUNDS):
            for case, (strategy, messages) in _CASES.items():
                write_ns[case].append(_write_ns(strategy, messages, cpus.receiver_cpu))
            with_ns, without_ns = _cycles_ns(counting), _cycles_ns(other)
            for case, added in added_ns.items():
                added.append(with_ns[case] - without_ns[case] + with_ns["clock"])
    outcomes = [_told(case, added_ns[case], write_ns[case]) for case in _CASES]
    return 0 if all(outcomes) else 1


def _told(case: str, added_ns: list[float], write_ns: list[float]) -> bool:
    added, write = figure_of(added_ns), figure_of(write_ns).median
    share = Figure(*(value / write for value in (added.median, added.low, added.high)))
    figures = (
        f"{added.median:.1f} ns ({added.low:.1f}-{added.high:.1f}) of {write:,.0f} ns: "
        f"{share.median:.2%} ({share.low:.2%}-{share.high:.2%}), asked below 2%"
    )
    return verdict(f"{case}: what statistics add to a write", share.high < 0.02, figures)


def _built(folder: str, feature: str = "") -> str:
    """The program that runs the coalescer, with this feature; the next one is built over it."""
    command = "cargo build --release --quiet --locked --package tinygram-net --example stats_cost"
    words = [*command.split(), "--target-dir", "target", "--features", feature]
    subprocess.run(words, cwd=_ROOT, check=True)
    return shutil.copy(_ROOT / "target/release/examples/stats_cost", f"{folder}/{feature}-program")


def _cycles_ns(program: str) -> dict[str, float]:
    done = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
    return dict(zip((*_CASES, "clock"), map(float, done.stdout.split()), strict=True))


def _write_ns(strategy: tinygram.Strategy, messages: int, reader_cpu: int | None) -> float:
    """The cost of a write to the sending thread, with the hand-over of its messages."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(_LIMIT_S)
        port = listening.getsockname()[1]
        reader = get_context("spawn").Process(
            target=_read_all, args=(port, reader_cpu), daemon=True
        )
        reader.start()
        sock, _ = listening.accept()
    with sock, tinygram.batch(sock, strategy=strategy) as out:
        start_ns = time.thread_time_ns()
        for _ in range(_WRITES):
            for _ in range(messages):
                out.send(_MESSAGE)
            out.poll()
        took_ns = time.thread_time_ns() - start_ns
        writes = out.stats().writes
    reader.join()
    # A write may be cut where the reader lags.
    assert _WRITES <= writes < 1.1 * _WRITES, writes
    return took_ns / writes


def _read_all(port: int, cpu: int) -> None:
    os.sched_setaffinity(0, {cpu})
    with socket.create_connection(("127.0.0.1", port)) as sock:
        while sock.recv(1 << 18):
            pass


if __name__ == "__main__":
    sys.exit(main())
