"""Our native stream beside the programs that measure the same: sockperf and nuttcp.

One way, 100 bytes: 12 × the best of `sockperf throughput` and `nuttcp -l100`, each at its best
setting (Nagle or TCP_NODELAY), with batches; 0.95 × with equal writes, one for each message. All
sides run once per round, in random order, on the same cores; one round warms up. A program that is
not installed is named; without either, nothing can be said, and the status is 1. What else the
programs do than we, `tinygram stream --cross-check` says. All have one congestion control:
CUBIC, or Reno where the kernel keeps CUBIC from the programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import median

from pairs import (
    SEED,
    at_least,
    bench,
    flat_out_case,
    measured,
    show_environment,
    shown,
    side_by_side,
    verdict,
)
from published.stored import Asked, Column, Row, figure
from published.telling import asked_into, store, tell

from tinygram_bench.crosscheck.control import common_congestion_control
from tinygram_bench.crosscheck.run import run_peer
from tinygram_bench.crosscheck.selection import Chosen, choose
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.runs.bench import Bench
from tinygram_bench.statistics.figures.intervals import figure_of

_ROUNDS = 9
_SIZE = MessageBytes(100, 100)
_BATCHED_MESSAGES = 10_000_000
_SINGLE_MESSAGES = 1_500_000
_PROGRAMS = ("sockperf", "nuttcp")
_ASKED_BATCHED, _ASKED_EQUAL = 12, 0.95
_COLUMNS = (Column("ratio", "ratio", 2),)

Rates = dict[str, list[float]]


def main() -> int:
    into = asked_into(__doc__)
    with cores_awake(), bench() as streams:
        control = common_congestion_control(None)
        show_environment(control)
        singly = [_case(strategy, _SINGLE_MESSAGES, control) for strategy in ("nagle", "nodelay")]
        batched = _case("tick", _BATCHED_MESSAGES, control)
        peers = _peers(singly)
        if not peers:
            what = "native stream of 100 B ÷ sockperf and nuttcp"
            return 0 if verdict(what, None, "neither is installed") else 1
        sides = {case.strategy: _ours(streams, case) for case in (*singly, batched)}
        sides |= {each.peer.peer_id: _theirs(each) for each in peers}
        rates: Rates = side_by_side(sides, _ROUNDS)
        for name, found in rates.items():
            print(f"           {name}: {median(found):,.0f} messages/s", flush=True)
        theirs = _best(rates, [each.peer.peer_id for each in peers])
        ours = _best(rates, [case.strategy for case in singly])
        rows = (
            _compared("batched", rates, batched.strategy, theirs, _ASKED_BATCHED),
            _compared("equal writes", rates, ours, theirs, _ASKED_EQUAL),
        )
        return store(into, "bench.peers_speed", "peers", "row", _COLUMNS, rows, control)


def _case(strategy: str, messages: int, congestion_control: str) -> Case:
    return flat_out_case(
        f"runtime=native,strategy={strategy}",
        messages,
        size=_SIZE,
        congestion_control=congestion_control,
    )


def _peers(cases: Sequence[Case]) -> list[Chosen]:
    """Every setting of the programs that are here; the others are named."""
    chosen, absent = choose(Plan(tuple(cases), 1, SEED))
    for each in absent:
        if each.program in _PROGRAMS:
            print(f"           {each.program} {each.reason}", flush=True)
    return [each for each in chosen if each.peer.program in _PROGRAMS]


def _ours(streams: Bench, case: Case) -> Callable[[], float]:
    def messages_per_s() -> float:
        counters = measured(streams.run_case(case, 0))
        return counters["messages"] / counters["run_time_ns"] * 1e9

    return messages_per_s


def _theirs(chosen: Chosen) -> Callable[[], float]:
    def messages_per_s() -> float:
        run = run_peer(chosen, 0)
        if run.value is None:
            raise SystemExit(f"{run.peer_id} failed: {run.failure}")
        return run.value

    return messages_per_s


def _best(rates: Rates, names: Sequence[str]) -> str:
    return max(names, key=lambda name: median(rates[name]))


def _compared(what: str, rates: Rates, ours: str, theirs: str, asked: float) -> Row:
    ratio = figure_of([a / b for a, b in zip(rates[ours], rates[theirs], strict=True)])
    figures = f"{shown(ratio)}, asked {asked}"
    what = f"native stream of 100 B, {what} ({ours}) ÷ {theirs}"
    row = Row(what, {"ratio": figure(ratio)}, Asked(asked), at_least(ratio, asked))
    return tell(row, figures)


if __name__ == "__main__":
    sys.exit(main())
