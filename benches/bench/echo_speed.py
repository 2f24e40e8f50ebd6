"""The native echo server is faster than every Python one, and far faster where replies gather.

Targets: 1.15 × the best Python row with a reply to each read, 5 workers, one message of 1,000 or
4,096 bytes in flight each; 40 × the best row by hand with a reply to each of 64 messages of 100
bytes in flight. Medians of fifteen interleaved rounds; the ratio is formed round by round.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from statistics import median

from pairs import at_least, measured, show_environment, shown
from published.stored import Asked, Column, Row, figure
from published.telling import asked_into, store, tell

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.runs.bench import Bench, running
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.workloads.loads import way_of
from tinygram_bench.workloads.echo.cases import EchoOptions, plan_echo
from tinygram_bench.workloads.echo.run import Echo

_ROUNDS = 15
_SEED = 1
_NATIVE = "native/epoll:64KiB"
_COLUMNS = (Column("ratio", "ratio", 2),)


def main() -> int:
    into = asked_into(__doc__)
    with cores_awake(), running(Echo(_SEED)) as bench:
        show_environment("cubic")
        rows = [
            _compared(bench, _cases(size, 1, "per-read"), _NATIVE, 1.15) for size in (1_000, 4_096)
        ]
        gathered = [
            case
            for only in ("implementation=stdlib", "runtime=native,strategy=tick")
            for case in _cases(100, 64, "per-message", only)
        ]
        rows.append(_compared(bench, gathered, f"{_NATIVE}/tick", 40))
        return store(into, "bench.echo_speed", "echoes", "row", _COLUMNS, rows)


def _compared(bench: Bench, cases: Sequence[Case], native: str, asked: float) -> Row:
    """How many times as fast `native` is as the best Python row; prints that, too."""
    rates = {way_of(case): list[float]() for case in cases}
    for round in range(_ROUNDS):
        for case in random.Random(f"{_SEED}/{round}").sample(cases, len(cases)):
            rates[way_of(case)].append(_rate(bench.run_case(case, round)))
    python = {way: found for way, found in rates.items() if not way.startswith("native/")}
    best = max(python, key=lambda way: median(python[way]))
    ratio = figure_of(
        [ours / theirs for ours, theirs in zip(rates[native], python[best], strict=True)]
    )
    case = cases[0]
    what = f"{native} ÷ {best}, {case.message_bytes.max} B, depth {EchoParameters.of(case).depth}"
    row = Row(what, {"ratio": figure(ratio)}, Asked(asked), at_least(ratio, asked))
    return tell(row, f"{shown(ratio)}, asked {asked}")


def _cases(size: int, depth: int, reply: str, *only: str) -> list[Case]:
    """The rows of a load, one for each way."""
    options = EchoOptions(
        message_bytes=[size],
        workers=5,
        depth=depth,
        reply=reply,
        buffers_bytes=[64 << 10],
        messages=None,
        duration_ns=500_000_000,
        fault=None,
        external=None,
        congestion_control="cubic",
        link="loopback",
        placement="apart",
        timeout_ns=30_000_000_000,
        rounds=_ROUNDS,
        seed=_SEED,
        has_all=False,
        only=only,
    )
    return list(plan_echo(options).cases)


def _rate(run: Run) -> float:
    counters = measured(run)
    return counters["messages"] / counters["run_time_ns"] * 1e9


if __name__ == "__main__":
    sys.exit(main())
