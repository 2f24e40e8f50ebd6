"""A case that is not at turn rests, at both ends, also when its last slice is over."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runs.failing.test_dying_among_slices import ENDS, LOADS
from tests.runs.test_turns import case_of

from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.children import Told, as_they_answer
from tinygram_bench.runs import group
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.slices import Slices, table
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import TakesTurns, Waiting
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.stream.run import Stream

SLICE_NS = 20_000_000
OTHERS_NS = 400_000_000
"""How long others have turns when all slices of these cases are over."""
ENDED_S = 0.2
"""By then a case that did not wait for them would have answered."""
STREAMS = {
    "on each runtime": (
        "loop/stdlib/nodelay",
        "loop/tinygram/adaptive",
        "threads/stdlib/nodelay",
        "threads/tinygram/adaptive",
        "processes/stdlib/nodelay",
        "asyncio/stdlib/nodelay",
        "asyncio/stdlib/tick",
        "uvloop/tinygram/adaptive",
        "native/tinygram/nodelay",
    ),
    "of several producers": ("threads/tinygram/adaptive", "threads/stdlib/nodelay"),
    "over many connections": ("asyncio/stdlib/nodelay", "native/tinygram/nodelay"),
    "over TLS": ("loop/stdlib/nodelay", "asyncio/tinygram/adaptive"),
}
MORE: dict[str, dict[str, Any]] = {
    "of several producers": {"producers": [2]},
    "over many connections": {"connections": [3]},
    "over TLS": {"tls": [True]},
}


def waitings(
    monkeypatch: pytest.MonkeyPatch, workload: TakesTurns, cases: list[Case]
) -> list[tuple[Turn, Waiting]]:
    """What each case says of itself when it waits for its first slice; its run must succeed."""
    warmed_up = type(workload).warmed_up
    found: list[tuple[Turn, Waiting]] = []

    def noting(self: Any, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        waiting = warmed_up(self, turn, address, slices)
        found.append((turn, waiting))
        return waiting

    monkeypatch.setattr(type(workload), "warmed_up", noting)
    with running(workload) as bench:
        assert [run.failure for run in bench.run_cases(cases, 0)] == [None] * len(cases)
    return found


@pytest.mark.parametrize("load", LOADS)
def test_the_processes_at_both_ends_must_rest(monkeypatch: pytest.MonkeyPatch, load: str) -> None:
    workload, cases = LOADS[load]
    near, far = ENDS[type(workload)]
    billed, other = (far, near) if isinstance(workload, Echo) else (near, far)
    for turn, waiting in waitings(monkeypatch, workload, list(cases)):
        assert waiting.pids == turn.stage.child(billed).pids
        assert waiting.resting_pids == turn.stage.child(other).pids


def test_a_receiver_that_is_not_ours_must_rest_too(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = [sys.executable, "-m", "tinygram_bench.workloads.stream.receiver"]
    case = case_of(
        "loop/stdlib/nodelay",
        rates_per_s=[2_000.0],
        duration_ns=5 * SLICE_NS,
        slice_ns=SLICE_NS,
        receiver_command=shlex.join(receiver),
    )
    [(turn, waiting)] = waitings(monkeypatch, Stream(1), [case])
    assert turn.programs[0].pid in waiting.resting_pids


@pytest.mark.parametrize("rates_per_s", [[2_000.0], []], ids=["paced", "flat out"])
@pytest.mark.parametrize("load", STREAMS)
def test_no_stream_ends_while_others_have_turns(
    monkeypatch: pytest.MonkeyPatch, load: str, rates_per_s: list[float]
) -> None:
    """Ending takes a core, at both ends: a whole slice of another case was late by milliseconds."""
    lasting = {"duration_ns": 3 * SLICE_NS, "slice_ns": SLICE_NS, "rates_per_s": rates_per_s}
    cases = [case_of(way, **lasting, **MORE.get(load, {})) for way in STREAMS[load]]
    check_nobody_ends_early(monkeypatch, Stream(1), cases)


@pytest.mark.parametrize("load", [name for name in LOADS if name.startswith("rr")])
def test_no_callers_end_while_others_have_turns(monkeypatch: pytest.MonkeyPatch, load: str) -> None:
    workload, cases = LOADS[load]
    check_nobody_ends_early(monkeypatch, workload, list(cases))


def test_a_receiver_that_dies_while_its_sender_waits_for_others_fails_its_case_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receivers: list[int] = []
    warmed_up = Stream.warmed_up

    def noting(self: Any, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        waiting = warmed_up(self, turn, address, slices)
        receivers.extend(waiting.resting_pids)
        return waiting

    def struck(
        of: Sequence[Sequence[Told]], give_up_s: float, beside: Sequence[Sequence[Told]]
    ) -> Iterator[tuple[int, bool]]:
        os.kill(receivers[0], signal.SIGKILL)
        yield from as_they_answer(of, give_up_s, beside)

    monkeypatch.setattr(Stream, "warmed_up", noting)
    lasting = {"duration_ns": 3 * SLICE_NS, "slice_ns": SLICE_NS, "rates_per_s": [2_000.0]}
    cases = [case_of(way, **lasting) for way in STREAMS["on each runtime"][:2]]
    first, second = runs_whose_others_last_longer(monkeypatch, Stream(1), cases, struck)
    assert first.failure is not None
    assert "the receiver was killed by SIGKILL" in first.failure
    assert second.failure is None


def check_nobody_ends_early(
    monkeypatch: pytest.MonkeyPatch, workload: TakesTurns, cases: list[Case]
) -> None:
    def looked_at(
        of: Sequence[Sequence[Told]], give_up_s: float, beside: Sequence[Sequence[Told]]
    ) -> Iterator[tuple[int, bool]]:
        time.sleep(ENDED_S)
        answered = dict(as_they_answer(of, time.monotonic(), beside))
        assert list(answered.values()) == [False] * len(cases)
        yield from as_they_answer(of, give_up_s, beside)

    runs = runs_whose_others_last_longer(monkeypatch, workload, cases, looked_at)
    assert [run.failure for run in runs] == [None] * len(cases)


def runs_whose_others_last_longer(
    monkeypatch: pytest.MonkeyPatch, workload: TakesTurns, cases: list[Case], answers: Any
) -> list[Run]:
    """`answers`: in place of `as_they_answer`, when all slices of these cases are over."""

    def longer(*asked: Any) -> tuple[Slices, ...]:
        found = table(*asked)
        return tuple(replace(each, over_ns=each.over_ns + OTHERS_NS) for each in found)

    monkeypatch.setattr(group, "table", longer)
    monkeypatch.setattr(group, "as_they_answer", answers)
    with running(workload) as bench:
        return bench.run_cases(cases, 0)
