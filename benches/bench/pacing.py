"""Whether messages leave when they are due, and whether p50 is what other programs measure.

- The pacer's error: p50 at most 1 µs from 1,000 to 200,000 messages a second, natively and in a
  plain loop, at each rate that the sender holds: 95 of 100 messages leave alone.
- p50 of a stream of 100 bytes at 1,000, 10,000 and 50,000 a second: within 10 % of that of
  programs which share no code with the bench. Beside the native sender one in C (paced_stream.c),
  beside the plain loop one in Python (paced_stream.py), both received by the one in C.

Each side runs for 0.3 s once per round, in random order, on the same cores, which are kept awake;
one round warms up. A target inside the interval of what was found is neither reached nor missed:
that cannot be said. A rate that a sender does not hold is named, and nothing asked of it.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from msgspec.structs import replace
from pairs import (
    SEED,
    at_most,
    only_case,
    show_environment,
    shown,
    side_by_side,
    stream_options,
    verdict,
)
from published.stored import Asked, Column, Row, figure
from published.telling import asked_into, store, tell

from tinygram_bench._native import Histogram
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.placement import default_placement, placement
from tinygram_bench.model.result import Case, Figure, MessageBytes
from tinygram_bench.runs.bench import Bench, running
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.workloads.stream.run import Stream, by_runtime_and_link

_ROUNDS = 15
_DURATION_NS = 300_000_000
_MESSAGE_BYTES = 100
_COMPARED_PER_S = (1_000, 10_000, 50_000)
_ALONE_PER_S = (5_000, 20_000, 100_000, 200_000)
_ASKED_ERROR_US = 1.0
_ASKED_NEAR = 0.10
_HELD = 0.95
_COLUMNS = (
    Column("p50 ÷ that of an independent program", "ratio", 3),
    Column("p50 in µs, ours and theirs", "p50_us", 1),
)
_LIMIT_S = 30
_HERE = Path(__file__).parent
_NATIVE, _LOOP = "native", "loop"


@dataclass(frozen=True)
class Paced:
    """The figures of one run: medians in µs, and the share of messages that left alone."""

    latency_p50_us: float
    error_p50_us: float = 0.0
    alone: float = 1.0


def main() -> int:
    into = asked_into(__doc__)
    with (
        cores_awake(),
        running(Stream(SEED), by_runtime_and_link) as bench,
        tempfile.TemporaryDirectory() as folder,
    ):
        show_environment("cubic")
        program = Path(folder) / "paced_stream"
        source = _HERE / "paced_stream.c"
        subprocess.run(["cc", "-O2", "-Wall", "-o", program, source], check=True)
        script = str(_HERE / "paced_stream.py")
        theirs = {_NATIVE: [str(program), "send"], _LOOP: [sys.executable, script]}
        reached, rows = [], []
        for rate_per_s in sorted((*_COMPARED_PER_S, *_ALONE_PER_S)):
            sides: dict[str, Callable[[], Paced]] = {
                runtime: _ours(bench, runtime, rate_per_s) for runtime in theirs
            }
            if rate_per_s in _COMPARED_PER_S:
                for runtime, words in theirs.items():
                    sides[f"beside {runtime}"] = _independent(str(program), words, rate_per_s)
            found = side_by_side(sides, _ROUNDS)
            for runtime in theirs:
                reached.append(_is_in_time(runtime, rate_per_s, found[runtime]))
                if rate_per_s in _COMPARED_PER_S:
                    pairs = zip(found[runtime], found[f"beside {runtime}"], strict=True)
                    rows.append(_near(runtime, rate_per_s, list(pairs)))
        status = store(into, "bench.pacing", "pacing", "sender", _COLUMNS, rows)
    return status if all(reached) else 1


def _is_in_time(runtime: str, rate_per_s: int, runs: list[Paced]) -> bool:
    what = f"{runtime}, {rate_per_s:,}/s: the pacer's error, p50"
    alone = median(run.alone for run in runs)
    if alone < _HELD:
        print(f"           {what}: not asked, the sender holds this rate with {alone:.0%}")
        return True
    error_us = figure_of([run.error_p50_us for run in runs])
    figures = f"{error_us.median:.2f} µs ({error_us.low:.2f}-{error_us.high:.2f})"
    is_reached = at_most(error_us, _ASKED_ERROR_US)
    return verdict(what, is_reached, f"{figures}, asked at most {_ASKED_ERROR_US:g}")


def _near(runtime: str, rate_per_s: int, pairs: list[tuple[Paced, Paced]]) -> Row:
    ratio = figure_of([ours.latency_p50_us / theirs.latency_p50_us for ours, theirs in pairs])
    p50_us = [median(run.latency_p50_us for run in side) for side in zip(*pairs, strict=True)]
    name = {_NATIVE: "C", _LOOP: "Python"}[runtime]
    figures = f"{shown(ratio)}, asked {1 - _ASKED_NEAR:g} to {1 + _ASKED_NEAR:g}"
    row = Row(
        f"{runtime}, beside {name}, {rate_per_s:,} messages/s",
        {"ratio": figure(ratio), "p50_us": [*p50_us]},
        Asked(1 - _ASKED_NEAR, 1 + _ASKED_NEAR),
        _within(ratio),
    )
    return tell(row, f"p50 ÷ {figures}; {p50_us[0]:.1f} and {p50_us[1]:.1f} µs")


def _within(ratio: Figure) -> bool | None:
    """Whether the whole interval is near 1; None where a part of it is."""
    low, high = 1 - _ASKED_NEAR, 1 + _ASKED_NEAR
    if low <= ratio.low and ratio.high <= high:
        return True
    return False if ratio.high < low or ratio.low > high else None


def _ours(bench: Bench, runtime: str, rate_per_s: int) -> Callable[[], Paced]:
    case = _case(runtime, rate_per_s)
    rounds = iter(range(1 << 20))

    def paced() -> Paced:
        run = bench.run_case(case, next(rounds))
        if run.failure is not None:
            raise SystemExit(f"{case.case_id} failed: {run.failure}")
        of = {name: Histogram.from_base64(text) for name, text in run.histograms.items()}
        return Paced(
            of["latency_ns"].percentile_ns(50) / 1e3,
            of["pacing_error_ns"].percentile_ns(50) / 1e3,
            (run.counters["releases"] or 0) / (run.counters["messages"] or 1),
        )

    return paced


def _case(runtime: str, rate_per_s: int) -> Case:
    implementation = "tinygram" if runtime == _NATIVE else "stdlib"
    options = stream_options(f"runtime={runtime},implementation={implementation},strategy=nodelay")
    return only_case(
        replace(
            options,
            message_bytes=MessageBytes(_MESSAGE_BYTES, _MESSAGE_BYTES),
            rates_per_s=(float(rate_per_s),),
            duration_ns=_DURATION_NS,
            placement=default_placement(),
            timeout_ns=_LIMIT_S * 1_000_000_000,
        )
    )


def _independent(program: str, send: list[str], rate_per_s: int) -> Callable[[], Paced]:
    cores = placement(default_placement())
    count = rate_per_s * _DURATION_NS // 1_000_000_000

    def paced() -> Paced:
        words = [program, "receive", str(cores.receiver_cpu or 0), str(_MESSAGE_BYTES)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as receiver:
            assert receiver.stdout is not None
            port = receiver.stdout.readline().decode().strip()
            options = [cores.sender_cpu or 0, _MESSAGE_BYTES, port, rate_per_s, count]
            sender = subprocess.run(
                [*send, *map(str, options)], stdout=subprocess.PIPE, timeout=_LIMIT_S, check=True
            )
            notes = receiver.stdout.read()
        if receiver.returncode:
            raise SystemExit(f"paced_stream receive: status {receiver.returncode}")
        return Paced(_p50_us(notes, int(sender.stdout), rate_per_s, count))

    return paced


def _p50_us(notes: bytes, start_ns: int, rate_per_s: int, count: int) -> float:
    """From when each message was due to the end of the read that had its last byte."""
    latencies_ns: list[int] = []
    for read_ns, come_bytes in struct.iter_unpack("=qq", notes):
        for index in range(len(latencies_ns), come_bytes // _MESSAGE_BYTES):
            latencies_ns.append(read_ns - start_ns - index * 1_000_000_000 // rate_per_s)
    if len(latencies_ns) != count:
        raise SystemExit(f"{len(latencies_ns)} of {count} messages came")
    return float(median(latencies_ns)) / 1e3


if __name__ == "__main__":
    sys.exit(main())
