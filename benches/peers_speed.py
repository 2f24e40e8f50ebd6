"""Our native limits beside the programs that measure the same: sockperf and nuttcp.

One way, 100 bytes: 12 × the best of `sockperf throughput` and `nuttcp -l100`, each at its best
setting (Nagle or TCP_NODELAY), with batches; 0.95 × with equal writes, one for each message. Back
and forth: the median of 100 bytes is within 1 µs of `sockperf ping-pong --tcp --full-rtt`. All
sides run once per round, in random order, on the same cores; one round warms up. A program that is
not installed is named, and its row cannot be said. `tinygram stream --cross-check` says what else
the programs do than we.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import median

from pairs import (
    SEED,
    bench,
    flat_out_case,
    measured,
    show_environment,
    shown,
    side_by_side,
    verdict,
)

from tinygram._native import Histogram
from tinygram.bench.awake import cores_awake
from tinygram.bench.crosscheck.run import run_peer
from tinygram.bench.crosscheck.selection import Chosen, choose
from tinygram.bench.placement import default_placement
from tinygram.bench.result import Case, MessageBytes, Plan
from tinygram.bench.statistics.intervals import figure_of
from tinygram.bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram.bench.workloads.rr.run import RrBench
from tinygram.bench.workloads.stream.run import StreamBench

_ROUNDS = 9
_BYTES = 100
_SIZE = MessageBytes(_BYTES, _BYTES)
_BATCHED_MESSAGES = 10_000_000
_SINGLE_MESSAGES = 400_000
_ASKED_BATCHED, _ASKED_EQUAL, _ASKED_US = 12, 0.95, 1.0
_STREAM_PEERS = ("sockperf", "nuttcp")
_PING_PONG_PEERS = ("sockperf",)

Side = Callable[[], float]


def main() -> int:
    with cores_awake():
        show_environment("cubic")
        with bench() as streams:
            reached = [_streams(streams)]
        reached.append(_ping_pong())
    return 0 if all(reached) else 1


def _streams(streams: StreamBench) -> bool:
    """Messages per second, one way."""
    singly = [_native_case(strategy, _SINGLE_MESSAGES) for strategy in ("nagle", "nodelay")]
    batched = _native_case("tick", _BATCHED_MESSAGES)
    peers = _peers((*singly, batched), _STREAM_PEERS)
    sides = {case.strategy: _stream_side(streams, case) for case in (*singly, batched)}
    sides |= {each.peer.peer_id: _peer_side(each) for each in peers}
    rates = side_by_side(sides, _ROUNDS)
    for name, found in rates.items():
        print(f"           {name}: {median(found):,.0f} messages/s", flush=True)
    what = f"native stream of {_BYTES} B"
    if not peers:
        return verdict(f"{what} ÷ sockperf and nuttcp", None, "neither is installed")
    theirs = _best(rates, [each.peer.peer_id for each in peers])
    ours = _best(rates, [case.strategy for case in singly])
    is_batched = _is_reached(f"{what}, batched", rates, "tick", theirs, _ASKED_BATCHED)
    is_equal = _is_reached(f"{what}, equal writes", rates, ours, theirs, _ASKED_EQUAL)
    return is_batched and is_equal


def _ping_pong() -> bool:
    """The median of round trips; both sides wait for each reply."""
    options = RrOptions(
        runtimes=("native",),
        strategies=("nodelay",),
        connections=("per-caller",),
        sends_per_request=(1,),
        request_bytes=_BYTES,
        reply_bytes=_BYTES,
        processes=1,
        callers=1,
        warm_up_calls=1_000,
        placement=default_placement(),
        rounds=1,
        seed=SEED,
    )
    (case,) = plan_rr(options).cases
    what = f"native ping-pong of {_BYTES} B − sockperf, p50"
    peers = _peers((case,), _PING_PONG_PEERS)
    if not peers:
        return verdict(what, None, "sockperf is not installed")
    (peer,) = peers
    times_us = side_by_side({"ours": lambda: _call_us(case), "peer": _peer_side(peer)}, _ROUNDS)
    pairs = zip(times_us["ours"], times_us["peer"], strict=True)
    difference = figure_of([ours_us - theirs_us for ours_us, theirs_us in pairs])
    figures = f"{median(times_us['ours']):.2f} and {median(times_us['peer']):.2f} µs, "
    figures += f"apart {shown(difference)}, asked within {_ASKED_US:g}"
    return verdict(what, abs(difference.median) <= _ASKED_US, figures)


def _native_case(strategy: str, messages: int) -> Case:
    return flat_out_case(f"runtime=native,strategy={strategy}", messages, size=_SIZE)


def _peers(cases: Sequence[Case], programs: Sequence[str]) -> list[Chosen]:
    """The settings of these programs; those that are not here are named."""
    chosen, absent = choose(Plan(tuple(cases), 1, SEED))
    for each in absent:
        if each.program in programs:
            print(f"           {each.program} {each.reason}", flush=True)
    return [each for each in chosen if each.peer.program in programs]


def _stream_side(streams: StreamBench, case: Case) -> Side:
    def messages_per_s() -> float:
        counters = measured(streams.run_case(case, 0))
        return counters["messages"] / counters["run_time_ns"] * 1e9

    return messages_per_s


def _call_us(case: Case) -> float:
    run = RrBench(SEED).run_case(case, 0)
    measured(run)
    return Histogram.from_base64(run.histograms["call_ns"]).percentile_ns(50) / 1e3


def _peer_side(chosen: Chosen) -> Side:
    def value() -> float:
        run = run_peer(chosen, 0)
        if run.value is None:
            raise SystemExit(f"{run.peer_id} failed: {run.failure}")
        return run.value

    return value


def _best(rates: dict[str, list[float]], names: Sequence[str]) -> str:
    return max(names, key=lambda name: median(rates[name]))


def _is_reached(
    what: str, rates: dict[str, list[float]], ours: str, theirs: str, asked: float
) -> bool:
    ratio = figure_of([a / b for a, b in zip(rates[ours], rates[theirs], strict=True)])
    figures = f"{shown(ratio)}, asked {asked}"
    return verdict(f"{what} ({ours}) ÷ {theirs}", ratio.median >= asked, figures)


if __name__ == "__main__":
    sys.exit(main())
