"""Many threads, one connection: `tinygram.CoalescingSocket` beside what one would write by hand.

Every figure is a run of the bench's own, with all its checks (`tinygram stream --producers`). The
sides of a group take turns in slices within a round, as the bench's cases do (docs/decisions/0023):
a ratio comes from two slices of one cycle, or of p99 from two blocks of slices, and its median is
the round's. Beside a busy thread they run alone, one after the other in random order, for it would
take the CPU time of the others' slices; a ratio then comes from two runs of one round. Shown are
the median over the rounds and its interval. What producers can do at all is shown by the same
threads, whose `send` does nothing. Messages are of 100 bytes, over loopback, the sender on one core
and the receiver on another, or both on any. A row tells what its runs warn of, and beside a busy
thread what rate each side came to: one that cannot keep up sends less, and has faster calls.
`--only TEXT` leaves the rows that have the text. The exit status is 0 when every row is reached.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from msgspec.structs import replace
from pairs import (
    SEED,
    at_least,
    at_most,
    bench,
    only_case,
    show_environment,
    shown,
    side_by_side,
    stream_options,
)
from published import stored
from published.stored import Asked, Column
from published.telling import store, take_into, tell

from tinygram_bench._native import Histogram, MessagePool, Pacer
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.placement import placement
from tinygram_bench.loads.producers import produce
from tinygram_bench.loads.source import Share, Source
from tinygram_bench.model.result import Case, Figure, MessageBytes, Run
from tinygram_bench.processes.workers import Worker
from tinygram_bench.runs.bench import Bench
from tinygram_bench.runs.slices import SLICE_NS
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.workloads.stream.sending.busy_thread import BusyThread

_SIZE = 100
_ROUNDS = 9
_BUSY_ROUNDS = 6
_FEWEST_ROUNDS = 6
_BUSY_RATE_PER_S = 16_000.0
_BUSY_PRODUCERS = 8
_CALM_RATE_PER_S = 1_000.0
_CALM_SLICE_NS = 24_000_000
"""Long enough that 20 messages are left at that rate when 15 % have settled."""
_FLAT_OUT_NS = 300_000_000
"""All slices of a side in a round; 15 of them."""
_CALM_NS = 4_000_000_000
_BUSY_NS = 250_000_000
"""Short: beside a thread that computes, every `sendall` may wait for the GIL for its switch
interval, 5 ms, and the messages of 2 s then take 160 s."""
_QUEUE = "implementation=stdlib,strategy=coalesce:10us"
_LOCK = "implementation=stdlib-lock,strategy=nodelay"
_MANY = ("throughput_per_s", 0.7)
_OURS = ("combine", "coalesce:10us", "adaptive")
_COLUMNS = (Column("ratio", "ratio", 3), Column("messages/s, or µs", "medians"))


@dataclass(frozen=True)
class Load:
    """The load of the threads: flat out, or a rate (messages/s); in slices, or alone (None)."""

    producers: int
    duration_ns: int
    slice_ns: int | None
    rate_per_s: float | None = None
    has_busy_thread: bool = False
    placement: str = "apart"


@dataclass(frozen=True)
class Measured:
    """One run: figures by name, times in µs, and the codes of its warnings.

    A figure has a value for each slice or block of slices; alone it has one. `rate_per_s`: what was
    reached alone.
    """

    figures: Mapping[str, Sequence[float | None]]
    warnings: Collection[str] = ()
    rate_per_s: float | None = None


Round = Mapping[str, Measured]
"""Side → its run."""


@dataclass(frozen=True)
class Row:
    """`ours` ÷ `base` of one figure; `asked`: at least so much where more is better, else at most.

    With `asked` inside the interval it cannot be said which it is. `by_interval`: the interval's
    upper end decides, because nothing may be lost.
    """

    text: str
    ours: str
    base: str
    figure: str
    asked: float
    by_interval: bool = False

    def ratio(self, rounds: Sequence[Round]) -> Figure:
        """The median over each round's pairs of slices, and how well these are known."""
        ratios = []
        for each in rounds:
            ours, base = (each[name].figures[self.figure] for name in (self.ours, self.base))
            pairs = zip(ours, base, strict=True)
            ratios.append(median(a / b for a, b in pairs if a is not None and b))
        return figure_of(ratios)

    def is_reached(self, ratio: Figure) -> bool | None:
        """Whether it is; None where that cannot be said."""
        if self.figure.endswith("_per_s"):
            return at_least(ratio, self.asked)
        return ratio.high <= self.asked if self.by_interval else at_most(ratio, self.asked)


@dataclass(frozen=True)
class Group:
    """Rows, and what measures the sides that they name, in so many rounds."""

    rows: Sequence[Row]
    measure: Callable[[Sequence[str], int], Sequence[Round]]
    is_busy: bool = False


def main() -> int:
    if sys.argv[1:2] == ["--no-op"]:
        return _no_op(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows that have this text")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument(
        "--busy-rounds", type=int, default=_BUSY_ROUNDS, help="of the rows beside a busy thread"
    )
    take_into(parser)
    asked = parser.parse_args()
    if asked.into and asked.only:
        parser.error("--into stores all rows: leave --only out")
    show_environment("cubic")
    told = []
    with bench() as stream:
        for group in _groups(stream):
            rows = [row for row in group.rows if asked.only in row.text]
            if rows:
                wanted = sorted({name for row in rows for name in (row.ours, row.base)})
                number = asked.busy_rounds if group.is_busy else asked.rounds
                rounds = group.measure(wanted, number)
                told += [_told(row, rounds) for row in rows]
    return store(asked.into, "library.threads", "threads", "row", _COLUMNS, told)


def _groups(stream: Bench) -> Iterable[Group]:
    for producers, asked in ((8, 90), (1, 50), (32, 50)):
        yield _flat_out(stream, producers, asked)
    for placed in ("apart", "none"):
        yield _busy(stream, placed)
    calm = Load(1, _CALM_NS, _CALM_SLICE_NS, _CALM_RATE_PER_S)
    rows = [
        Row(
            f"idle, 1,000/s: {name}, adaptive ÷ lock",
            *("adaptive", "lock", f"latency_{name}_us", 1.05, True),
        )
        for name in ("p50", "p99")
    ]
    yield Group(rows, partial(_by_turns, stream, _cases(calm, lock=_LOCK)))


def _busy(stream: Bench, placement: str) -> Group:
    load = Load(_BUSY_PRODUCERS, _BUSY_NS, None, _BUSY_RATE_PER_S, True, placement)
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
    cases = _cases(load, lock=_LOCK)
    return Group(rows, partial(_alone, stream, cases, placement), is_busy=True)


def _flat_out(stream: Bench, producers: int, asked: float) -> Group:
    lists = {f"{way} lists": f"implementation=tinygram-lists,strategy={way}" for way in _OURS}
    cases = _cases(Load(producers, _FLAT_OUT_NS, SLICE_NS), queue=_QUEUE, **lists)
    cases["limit"] = _case(
        Load(1, _FLAT_OUT_NS, SLICE_NS), "implementation=tinygram,strategy=tick", "native"
    )
    text = f"{producers} producer{'s' if producers > 1 else ''} flat out"
    rows = [
        Row(f"{text}: {way} ÷ queue by hand", way, "queue", "throughput_per_s", asked)
        for way in _OURS
    ]
    rows += [
        Row(f"{text}: {way} ÷ native limit", way, "limit", "throughput_per_s", 0.5) for way in _OURS
    ]
    rows += [
        Row(f"{text}: send_many, {way} ÷ native limit", f"{way} lists", "limit", *_MANY)
        for way in _OURS
    ]
    return Group(rows, partial(_by_turns, stream, cases))


def _cases(load: Load, **by_hand: str) -> dict[str, Case]:
    only = {way: f"implementation=tinygram,strategy={way}" for way in _OURS} | by_hand
    return {name: _case(load, ways) for name, ways in only.items()}


def _case(load: Load, only: str, runtime: str = "threads") -> Case:
    return only_case(
        replace(
            stream_options(f"runtime={runtime},{only}"),
            message_bytes=MessageBytes(_SIZE, _SIZE),
            rates_per_s=[] if load.rate_per_s is None else [load.rate_per_s],
            duration_ns=load.duration_ns,
            placement=load.placement,
            timeout_ns=120_000_000_000,
            producers=[load.producers],
            has_busy_thread=load.has_busy_thread,
            slice_ns=load.slice_ns,
        )
    )


def _by_turns(
    stream: Bench, cases: Mapping[str, Case], wanted: Sequence[str], number: int
) -> Sequence[Round]:
    """Rounds of fresh processes that take turns."""
    rounds = []
    for each in range(number):
        runs = stream.run_cases([cases[name] for name in wanted], each)
        rounds.append(
            {
                name: Measured(_checked(run).slices, _codes(run))
                for name, run in zip(wanted, runs, strict=True)
            }
        )
    return rounds


def _alone(
    stream: Bench, cases: Mapping[str, Case], placed: str, wanted: Sequence[str], number: int
) -> Sequence[Round]:
    """Rounds of runs that are alone, one after the other."""
    sides: dict[str, Callable[[], Measured]] = {
        name: partial(_run_alone, stream, cases[name]) for name in wanted if name in cases
    }
    if "no-op" in wanted:
        sides["no-op"] = partial(_run_no_op, placed)
    values = side_by_side(sides, number)
    return [{name: values[name][each] for name in sides} for each in range(number)]


def _run_alone(stream: Bench, case: Case) -> Measured:
    run = _checked(stream.run_case(case, 0))
    figures = {}
    for name in ("latency", "queueing"):
        histogram = Histogram.from_base64(run.histograms[f"{name}_ns"])
        figures[f"{name}_p99_us"] = (histogram.percentile_ns(99) / 1_000,)
    messages, run_time_ns = run.counters["messages"] or 0, run.counters["run_time_ns"] or 0
    return Measured(figures, _codes(run), messages / run_time_ns * 1e9)


def _checked(run: Run) -> Run:
    if run.failure is not None:
        raise SystemExit(f"{run.case_id} failed: {run.failure}")
    return run


def _codes(run: Run) -> list[str]:
    return [warning.code for warning in run.warnings]


def _run_no_op(placed: str) -> Measured:
    with Worker("producers", [sys.executable, __file__, "--no-op", placed]) as worker:
        if not worker.wait_ended(60) or worker.failure:
            raise SystemExit(worker.failure or "the producers take too long")
        p99_us, rate_per_s = map(float, worker.output.split())
    return Measured({"latency_p99_us": (p99_us,)}, rate_per_s=rate_per_s)


def _no_op(placed: str) -> int:
    """Print p99 (µs) of intended time to the call, of threads that send nothing, and their calls
    per second.
    """
    cpu = placement(placed).sender_cpu
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    schedule = (_BUSY_RATE_PER_S, "constant", 1, _BUSY_NS, SEED)
    count = round(_BUSY_RATE_PER_S * _BUSY_NS / 1e9)
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
    print(latencies.percentile_ns(99) / 1_000, rate_per_s)
    return 0


def _told(row: Row, rounds: Sequence[Round]) -> stored.Row:
    ratio = row.ratio(rounds)
    word = "at least" if row.figure.endswith("_per_s") else "at most"
    both = [_median(rounds, row, name) for name in (row.ours, row.base)]
    medians = " and ".join(f"{each:,.4g}" for each in both)
    is_reached = row.is_reached(ratio) if len(rounds) >= _FEWEST_ROUNDS else None
    figures = f"{shown(ratio)}, asked {word} {row.asked:g}; {medians}, {len(rounds)} rounds"
    notes = [_paced(name, [each[name] for each in rounds]) for name in (row.ours, row.base)]
    aim = Asked(row.asked) if row.figure.endswith("_per_s") else Asked(at_most=row.asked)
    cells: dict[str, stored.Cell] = {"ratio": stored.figure(ratio), "medians": [*both]}
    return tell(
        stored.Row(row.text, cells, aim, is_reached), "; ".join(filter(None, [figures, *notes]))
    )


def _median(rounds: Sequence[Round], row: Row, name: str) -> float:
    """The figure of a side: of each round the median slice, and of these the median."""
    values = (each[name].figures[row.figure] for each in rounds)
    return median(median(value for value in each if value is not None) for each in values)


def _paced(name: str, runs: Sequence[Measured]) -> str:
    """The rate that a side reached alone, and in how many of its runs there are warnings."""
    rates = [run.rate_per_s for run in runs if run.rate_per_s is not None]
    told = [f"at {median(rates):,.0f}/s"] if rates else []
    codes = Counter(code for run in runs for code in set(run.warnings))
    told += [f"{code} in {count} of {len(runs)} runs" for code, count in codes.items()]
    return f"{name}: {', '.join(told)}" if told else ""


if __name__ == "__main__":
    with cores_awake():
        sys.exit(main())
