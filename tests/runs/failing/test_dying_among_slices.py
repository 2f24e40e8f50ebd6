"""A case that dies or stalls among others fails by name, and takes nothing from them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from signal import SIGKILL, SIGSTOP
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runs.test_turns import case_of
from tests.support.plans.echo import planned

from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.children import Child
from tinygram_bench.processes.workers import Worker
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Exchanged, TakesTurns, Waiting
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.run import Rr
from tinygram_bench.workloads.stream.run import Stream

SLICE_NS = 20_000_000
LASTING: dict[str, Any] = {"duration_ns": 15 * SLICE_NS, "slice_ns": SLICE_NS}
LIMIT_S = 8.0
"""How long a case may take where one stalls; each test has two or three."""
SLACK_S = 7.0
"""For ending processes on a host that stops for a while; less than a second limit."""
LONG_NS = 60_000_000_000
LONG_S = 60.0
"""A process that has died is not waited for: half of this would be far too long."""
WAYS = ("loop/stdlib/nodelay", "loop/tinygram/nodelay", "loop/tinygram/tick")

Load = tuple[TakesTurns, Sequence[Case]]


def streams(**load: object) -> Load:
    return Stream(1), [case_of(way, **LASTING, **load) for way in WAYS]


def calls(connections: str, *runtimes: str) -> Load:
    options = RrOptions(
        runtimes=runtimes,
        connections=(connections,),
        sends_per_request=(1,),
        request_bytes=100,
        processes=1,
        callers=2,
        placement="none",
        **LASTING,
    )
    return Rr(1), plan_rr(options).cases


def echoes() -> Load:
    only = [f"runtime={runtime},strategy=nodelay" for runtime in ("native", "threads")]
    cases = planned(*only, **LASTING, message_bytes=[100], timeout_ns=LONG_NS).cases
    return Echo(1), cases[:3]


LOADS = {
    "stream": streams(rates_per_s=[2_000.0]),
    "stream flat out": streams(),
    "rr native": calls("per-caller", "native"),
    "rr native, shared": calls("shared", "native"),
    "rr threads": calls("per-caller", "threads"),
    "rr asyncio": calls("per-caller", "asyncio"),
    "rr on every runtime": calls("per-caller", "threads", "asyncio", "uvloop", "native"),
    "echo": echoes(),
}
ENDS = {Stream: ("sender", "receiver"), Rr: ("callers 1", "server"), Echo: ("client", "server")}
WITHIN_SLICES = [
    *((SIGKILL, load, end) for load in LOADS for end in (0, 1)),
    # Each waits for the whole limit.
    *((SIGSTOP, load, end) for load in ("stream", "rr native", "rr threads") for end in (0, 1)),
    *((SIGSTOP, "echo", end) for end in (0, 1)),
]


@dataclass
class Found:
    """The runs of a group whose first case was struck, and the order in which they were collected.

    `took_s`: beside all slices.
    """

    runs: list[Run]
    turns: list[Slices]
    collected: list[Case]
    took_s: float


Start = Callable[[int], None]
Strike = Callable[[Worker, Slices, Start, int], None]
"""What happens to a process of the first case in place of telling that its start."""


def struck(
    monkeypatch: pytest.MonkeyPatch, load: Load, role: str, strike: Strike, limit_s: float = LONG_S
) -> Found:
    """`limit_s`: what a case may take."""
    workload, cases = load
    warmed_up = type(workload).warmed_up
    turns: list[Slices] = []
    starts_ns: list[int] = []
    collected: list[Case] = []

    def noting(self: Any, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        waiting = warmed_up(self, turn, address, slices)
        turns.append(slices)

        def collect(used: Used) -> Exchanged:
            collected.append(turn.case)
            return waiting.collect(used)

        if turn.case is not cases[0]:
            return replace(waiting, collect=collect)
        victim = turn.stage.child(role)
        assert isinstance(victim, Child)

        def start(at_ns: int) -> None:
            starts_ns.append(at_ns)
            strike(victim.worker, slices, waiting.start, at_ns)

        return replace(waiting, start=start, collect=collect)

    monkeypatch.setattr(type(workload), "warmed_up", noting)
    monkeypatch.setattr(type(workload), "limit_s", lambda _self, _case: limit_s)
    with running(workload) as bench:
        runs = bench.run_cases(cases, 0)
    over_ns = max(each.begins_ns[-1] + each.slice_ns + each.gap_ns for each in turns)
    return Found(runs, turns, collected, (time.monotonic_ns() - starts_ns[0] - over_ns) / 1e9)


def check_survivors(found: Found) -> None:
    assert len(found.runs) == len(found.turns) >= 2
    for run, slices in zip(found.runs[1:], found.turns[1:], strict=True):
        assert run.failure is None
        assert run.counters["slices"] == len(slices.begins_ns)
        assert {len(values) for values in run.slices.values()} >= {len(slices.begins_ns)}


def before(victim: Worker, _slices: Slices, start: Start, at_ns: int) -> None:
    os.kill(victim.pid, SIGKILL)
    assert victim.wait_ended(60)
    start(at_ns)


@pytest.mark.parametrize("load", LOADS)
def test_a_case_that_dies_before_the_start_fails_alone(
    monkeypatch: pytest.MonkeyPatch, load: str
) -> None:
    near, _ = ENDS[type(LOADS[load][0])]
    found = struck(monkeypatch, LOADS[load], near, before)
    assert found.runs[0].failure == f"the {near} was killed by SIGKILL"
    check_survivors(found)


def test_a_server_that_dies_before_the_start_fails_its_case_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = struck(monkeypatch, LOADS["echo"], "server", before)
    assert found.runs[0].failure is not None
    assert "the server was killed by SIGKILL" in found.runs[0].failure
    check_survivors(found)


@pytest.mark.parametrize(("number", "load", "end"), WITHIN_SLICES)
def test_a_case_that_dies_or_stalls_in_its_slice_fails_alone_and_in_time(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, load: str, end: int
) -> None:
    roles = ENDS[type(LOADS[load][0])]
    threads = []

    def within(victim: Worker, slices: Slices, start: Start, at_ns: int) -> None:
        middle_ns = at_ns + slices.begins_ns[0] + slices.slice_ns // 2

        def act() -> None:
            time.sleep(max(0, middle_ns - time.monotonic_ns()) / 1e9)
            os.kill(victim.pid, number)

        threads.append(threading.Thread(target=act))
        threads[0].start()
        start(at_ns)

    stalls = number == SIGSTOP
    limit_s = LIMIT_S if stalls else LONG_S
    found = struck(monkeypatch, LOADS[load], roles[end], within, limit_s)
    threads[0].join()
    failure = found.runs[0].failure
    assert failure is not None
    assert f"the {roles[0]} " in failure or f"the {roles[1]} " in failure
    assert (f"the {roles[end]} was killed by SIGKILL" in failure) == (number == SIGKILL)
    check_survivors(found)
    # The sender of a stream that fits into the receiver's buffers answers like the others.
    if stalls and (load, end) != ("stream", 1):
        assert found.collected[-1] is LOADS[load][1][0]
    assert found.took_s < (LIMIT_S + SLACK_S if stalls else LONG_S / 4)
