"""Many threads, one connection: `tinygram.CoalescingSocket` beside what one would write by hand.

Every figure is a run of the bench's own, with all its checks (`tinygram stream --producers`). The
cases of a group run once per round, in random order; a ratio comes from two runs of one round;
shown are the median over the rounds and its interval. What producers can do at all is shown by
the same threads, whose `send` does nothing. Messages are of 100 bytes, over loopback, the sender
on one core and the receiver on another, or both on any. A paced row tells what rate each side came
to, and what its runs warn of: a side that cannot keep up sends less, and has faster calls.
`--only TEXT` leaves the rows that have the text. The exit status is 0 when every row is reached.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from pairs import SEED, bench, show_environment, shown, side_by_side, verdict

from tinygram_bench._native import Histogram, MessagePool, Pacer
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.placement import placement
from tinygram_bench.load.producers import produce
from tinygram_bench.load.source import Share, Source
from tinygram_bench.model.result import Figure, MessageBytes
from tinygram_bench.processes.workers import Worker, wait_all
from tinygram_bench.run.bench import Bench
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.workloads.stream.busy_thread import BusyThread
from tinygram_bench.workloads.stream.cases import StreamOptions, plan_stream

_SIZE = 100
_ROUNDS = 9
_CALM_ROUNDS = 25
_FEWEST_ROUNDS = 6
_BUSY_RATE_PER_S = 16_000.0
_BUSY_PRODUCERS = 8
_CALM_RATE_PER_S = 1_000.0
_DURATION_NS = 2_000_000_000
_BUSY_DURATION_NS = 250_000_000
"""Short: beside a thread that computes, every `sendall` may wait for the GIL for its switch
interval, 5 ms, and the messages of 2 s then take 160 s."""
_QUEUE = "implementation=stdlib,strategy=coalesce:10us"
_LOCK = "implementation=stdlib-lock,strategy=nodelay"
_OURS = ("combine", "coalesce:10us", "adaptive")


@dataclass(frozen=True)
class Load:
    """The load of the threads: a number of messages flat out, or a rate (messages/s)."""

    producers: int
    messages: int = 0
    rate_per_s: float | None = None
    has_busy_thread: bool = False
    placement: str = "apart"
    duration_ns: int = _DURATION_NS


@dataclass(frozen=True)
class Measured:
    """One run: figures by name, times in µs, and the codes of its warnings."""

    figures: Mapping[str, float]
    warnings: Collection[str] = ()


Side = Callable[[], Measured]


@dataclass(frozen=True)
class Row:
    """`ours` ÷ `base` of one figure; `asked`: at least so much where more is better, else at most.

    `by_interval`: the interval's upper end decides, because nothing may be lost.
    """

    text: str
    ours: str
    base: str
    figure: str
    asked: float
    by_interval: bool = False

    def is_reached(self, ratio: Figure) -> bool:
        if self.figure.endswith("_per_s"):
            return ratio.median >= self.asked
        return (ratio.high if self.by_interval else ratio.median) <= self.asked


def main() -> int:
    if sys.argv[1:2] == ["--no-op"]:
        return _no_op(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows that have this text")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="of the N times rows")
    parser.add_argument("--calm-rounds", type=int, default=_CALM_ROUNDS, help="of the other rows")
    asked = parser.parse_args()
    show_environment("cubic")
    with bench() as stream:
        outcomes = [
            is_reached
            for sides, rows, is_calm in _groups(stream)
            for is_reached in _compare(
                sides,
                [row for row in rows if asked.only in row.text],
                asked.calm_rounds if is_calm else asked.rounds,
            )
        ]
    return 0 if all(outcomes) else 1


def _groups(stream: Bench) -> list[tuple[dict[str, Side], list[Row], bool]]:
    groups: list[tuple[dict[str, Side], list[Row], bool]] = []
    for producers, asked in ((8, 90), (1, 50), (32, 50)):
        groups.append(_flat_out(stream, producers, asked))
    groups += [_busy(stream, placement) for placement in ("apart", "none")]
    calm = Load(1, rate_per_s=_CALM_RATE_PER_S)
    rows = [
        Row(
            f"idle, 1,000/s: {name}, adaptive ÷ lock",
            *("adaptive", "lock", f"latency_{name}_us", 1.05, True),
        )
        for name in ("p50", "p99")
    ]
    groups.append((_sides(stream, calm, lock=_LOCK), rows, True))
    return groups


def _busy(stream: Bench, placement: str) -> tuple[dict[str, Side], list[Row], bool]:
    load = Load(
        _BUSY_PRODUCERS, 0, _BUSY_RATE_PER_S, True, placement, duration_ns=_BUSY_DURATION_NS
    )
    sides = _sides(stream, load, lock=_LOCK)
    sides["no-op"] = partial(_run_no_op, placement)
    cores = {"apart": "sender on one core", "none": "on any core"}[placement]
    text = f"8 threads × 2,000/s beside a busy thread, {cores}"
    rows = []
    for ours in _OURS:
        rows += [
            Row(f"{text}: p99 from the call, {ours} ÷ lock", ours, "lock", "queueing_p99_us", 0.01),
            Row(
                f"{text}: p99 from the intended time, {ours} ÷ no-op",
                *(ours, "no-op", "latency_p99_us", 1.2),
            ),
        ]
    return sides, rows, False


def _flat_out(
    stream: Bench, producers: int, asked: float
) -> tuple[dict[str, Side], list[Row], bool]:
    ours = _sides(stream, Load(producers, messages=4_000_000))
    queue = _side(stream, Load(producers, messages=200_000), _QUEUE)
    limit = _side(
        stream, Load(1, messages=8_000_000), "implementation=tinygram,strategy=tick", "native"
    )
    text = f"{producers} producer{'s' if producers > 1 else ''} flat out"
    rows = [
        Row(f"{text}: {way} ÷ queue by hand", way, "queue", "throughput_per_s", asked)
        for way in _OURS
    ]
    rows += [
        Row(f"{text}: {way} ÷ native limit", way, "limit", "throughput_per_s", 0.5) for way in _OURS
    ]
    return {**ours, "queue": queue, "limit": limit}, rows, False


def _sides(stream: Bench, load: Load, **by_hand: str) -> dict[str, Side]:
    only = {way: f"implementation=tinygram,strategy={way}" for way in _OURS} | by_hand
    return {name: _side(stream, load, ways) for name, ways in only.items()}


def _side(stream: Bench, load: Load, only: str, runtime: str = "threads") -> Side:
    options = StreamOptions(
        messages=load.messages,
        message_bytes=MessageBytes(_SIZE, _SIZE),
        rates_per_s=[] if load.rate_per_s is None else [load.rate_per_s],
        arrival="constant",
        burst=1,
        duration_ns=load.duration_ns,
        receive_buffer_bytes=256 << 10,
        receiver_command=None,
        congestion_control="cubic",
        link="loopback",
        placement=load.placement,
        timeout_ns=120_000_000_000,
        rounds=1,
        seed=SEED,
        has_all=False,
        only=[f"runtime={runtime},{only}"],
        producers=[load.producers],
        has_busy_thread=load.has_busy_thread,
    )
    (case,) = plan_stream(options).cases
    rounds = iter(range(1_000_000))

    def run() -> Measured:
        done = stream.run_case(case, next(rounds))
        if done.failure is not None:
            raise SystemExit(f"{done.case_id} failed: {done.failure}")
        messages, run_time_ns = done.counters["messages"] or 0, done.counters["run_time_ns"] or 0
        figures = {"throughput_per_s": messages / run_time_ns * 1e9}
        for name in ("latency", "queueing"):
            if f"{name}_ns" in done.histograms:
                histogram = Histogram.from_base64(done.histograms[f"{name}_ns"])
                figures[f"{name}_p50_us"] = histogram.percentile_ns(50) / 1_000
                figures[f"{name}_p99_us"] = histogram.percentile_ns(99) / 1_000
        return Measured(figures, [warning.code for warning in done.warnings])

    return run


def _run_no_op(placed: str) -> Measured:
    with Worker("producers", [sys.executable, __file__, "--no-op", placed]) as worker:
        wait_all([worker], 60)
        p50_us, p99_us, rate_per_s = map(float, worker.output.split())
    return Measured(
        {"latency_p50_us": p50_us, "latency_p99_us": p99_us, "throughput_per_s": rate_per_s}
    )


def _no_op(placed: str) -> int:
    """Print p50 and p99 (µs) of intended time to the call, of threads that send nothing, and the
    calls per second.
    """
    cpu = placement(placed).sender_cpu
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    schedule = (_BUSY_RATE_PER_S, "constant", 1, _BUSY_DURATION_NS, SEED)
    count = round(_BUSY_RATE_PER_S * _BUSY_DURATION_NS / 1e9)
    pool = MessagePool(SEED, _SIZE, _SIZE, _BUSY_PRODUCERS)
    messages = pool.messages()
    shares = [
        Share(messages, first, _BUSY_PRODUCERS, count, Pacer(*schedule, (first, _BUSY_PRODUCERS)))
        for first in range(_BUSY_PRODUCERS)
    ]
    busy = BusyThread()
    source = Source(pool, 0, count, None, lambda: True, busy.start, 0, shares)
    produce(source, lambda _message: None)
    busy.stop()
    latencies = Histogram()
    for first, share in enumerate(shares):
        for turn, at_ns in enumerate(share.hand_overs_ns):
            index = 1 + first + turn * _BUSY_PRODUCERS
            due_ns = (source.start_ns or 0) + int(index * 1e9 / _BUSY_RATE_PER_S)
            latencies.record(max(0, at_ns - due_ns))
    last_ns = max(share.hand_overs_ns[-1] for share in shares)
    rate_per_s = count / (last_ns - (source.start_ns or 0)) * 1e9
    print(latencies.percentile_ns(50) / 1_000, latencies.percentile_ns(99) / 1_000, rate_per_s)
    return 0


def _compare(sides: dict[str, Side], rows: list[Row], rounds: int) -> list[bool]:
    wanted = sorted({name for row in rows for name in (row.ours, row.base)})
    values = side_by_side({name: sides[name] for name in wanted}, rounds)
    return [_told(row, values) for row in rows]


def _told(row: Row, values: dict[str, list[Measured]]) -> bool:
    sides = [values[name] for name in (row.ours, row.base)]
    ours, base = ([run.figures[row.figure] for run in side] for side in sides)
    ratio = figure_of([a / b for a, b in zip(ours, base, strict=True)])
    word = "at least" if row.figure.endswith("_per_s") else "at most"
    medians = " and ".join(f"{figure_of(side).median:,.4g}" for side in (ours, base))
    is_reached = row.is_reached(ratio) if len(ours) >= _FEWEST_ROUNDS else None
    figures = f"{shown(ratio)}, asked {word} {row.asked:g}; {medians}, {len(ours)} rounds"
    if not row.figure.endswith("_per_s"):
        figures += f"; {_paced(row.ours, sides[0])}, {_paced(row.base, sides[1])}"
    return verdict(row.text, is_reached, figures)


def _paced(name: str, side: list[Measured]) -> str:
    """The rate that a side reached, and in how many of its runs there are warnings."""
    rate_per_s = figure_of([run.figures["throughput_per_s"] for run in side]).median
    codes = Counter(code for run in side for code in set(run.warnings))
    warned = "".join(f", {code} in {count} of {len(side)} runs" for code, count in codes.items())
    return f"{name} at {rate_per_s:,.0f}/s{warned}"


if __name__ == "__main__":
    with cores_awake():
        sys.exit(main())
