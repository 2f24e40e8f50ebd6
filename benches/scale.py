"""What a cluster costs the bench as it grows: 10, 100 and 1,000 generators in one process.

The conductor is the real one, and so are what it asks and reads, and the merging; the generators
are not: each answers at once, with runs like those of a stream in slices. So this is the bench's
own cost, without Ray's and the network's. A round has four cases of 10,000 messages for each
generator. Shown are medians over rounds and their intervals; memory is the most that Python holds
in a round, of which what the generators hold here is not a part.
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from concurrent.futures import Future
from functools import partial

import msgspec
from msgspec.structs import replace
from pairs import show_environment, stream_options
from published.stored import Column, Row, figure
from published.telling import asked_into, store

from tinygram_bench._native import Histogram
from tinygram_bench.cluster.conductor import Conductor, Lost
from tinygram_bench.cluster.order import Measured, Moment
from tinygram_bench.cluster.shares import shared_out
from tinygram_bench.model.result import Case, Run
from tinygram_bench.runs.slice_figures import percentiles_us
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.workloads.stream.cases import plan_stream

_GENERATORS = (10, 100, 1_000)
_ROUNDS = 7
_MESSAGES, _SLICES, _COUNTERS = 10_000, 100, 40
_ONLY = "runtime=loop,implementation=stdlib,strategy=nodelay,strategy=nagle"
_COLUMNS = (
    Column("questions a round", "questions", 0),
    Column("ms a round", "round_ms", 1),
    Column("ms a generator", "generator_ms", 2),
    Column("kB from a generator", "answer_kb", 1),
    Column("most memory, MB", "memory_mb", 1),
    Column("kB a generator", "memory_kb", 0),
    Column("kB of a generator in the result", "result_kb", 1),
)


class _Simulated:
    """A generator that answers at once."""

    server = "server"

    def __init__(self, number: int, measured: bytes) -> None:
        self.host = f"10.0.{number >> 8}.{number & 255}"
        self._answers = {"begin": b"[20000000,1000000]", "warm": b"null", "measure": measured}

    def ask(self, step: str, order: bytes) -> Future[bytes]:  # noqa: ARG002 - it is read nowhere
        answered: Future[bytes] = Future()
        answered.set_result(self._answers[step])
        return answered

    def end(self) -> None:
        raise AssertionError("none of them fails")


class _NoServer:
    def starts(self, lead_s: float) -> dict[str, Moment | Lost]:  # noqa: ARG002 - no time passes here
        return {"server": Moment(0, 1_000)}


def main() -> int:
    into = asked_into(__doc__)
    show_environment("cubic")
    rows = [_row(generators) for generators in _GENERATORS]
    return store(into, "scale", "growth", "generators", _COLUMNS, rows)


def _row(generators: int) -> Row:
    options = replace(
        stream_options(_ONLY),
        clients=generators,
        duration_ns=1_000_000_000,
        link="remote",
        rates_per_s=[each * _MESSAGES * generators for each in (1.0, 2.0)],
        takes_turns=True,
    )
    cases = plan_stream(options).cases
    answers = [_answer(cases, seed) for seed in range(10)]
    simulated = [_Simulated(number, answers[number % 10]) for number in range(generators)]
    shares = partial(shared_out, clients=generators, seed=1)
    conductor = Conductor(simulated, shares, _NoServer(), print)
    times_ms, runs = [], []
    for round in range(_ROUNDS):
        began_ns = time.perf_counter_ns()
        runs = conductor.run_cases(cases, round)
        times_ms.append((time.perf_counter_ns() - began_ns) / 1e6)
    questions = conductor.messages / _ROUNDS
    tracemalloc.start()
    conductor.run_cases(cases, 0)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept = sum(len(msgspec.json.encode(row)) for run in runs for row in run.hosts)
    took = figure(figure_of(times_ms), decimals=1)
    each = figure(figure_of([took_ms / generators for took_ms in times_ms]), decimals=2)
    print(f"{generators}: {questions:g} questions, {took.median:.1f} ms a round")
    return Row(
        f"{generators:,}",
        {
            "questions": questions,
            "round_ms": took,
            "generator_ms": each,
            "answer_kb": sum(map(len, answers)) / 10 / 1e3,
            "memory_mb": most_bytes / 1e6,
            "memory_kb": most_bytes / generators / 1e3,
            "result_kb": kept / generators / 1e3,
        },
    )


def _answer(cases: tuple[Case, ...], seed: int) -> bytes:
    return msgspec.json.encode(Measured(tuple(_run(case, seed) for case in cases), 10_000, None, 0))


def _run(case: Case, seed: int) -> Run:
    dice = random.Random(seed)
    by_slice_ns = [
        [round(dice.lognormvariate(10, 0.7)) for _ in range(_MESSAGES // _SLICES)]
        for _ in range(_SLICES)
    ]
    latency = Histogram()
    for of_slice in by_slice_ns:
        for value_ns in of_slice:
            latency.record(value_ns)
    counters: dict[str, int | None] = {f"counter_{each}": 1_234_567 for each in range(_COUNTERS)}
    counters |= {"messages": _MESSAGES, "clock_bound_ns": 10_000}
    histograms = {"latency_ns": latency.to_base64(), "pacing_error_ns": latency.to_base64()}
    slices = percentiles_us("latency", by_slice_ns, _MESSAGES / _SLICES)
    return Run(case.case_id, 0, counters, histograms, slices=slices)


if __name__ == "__main__":
    sys.exit(main())
