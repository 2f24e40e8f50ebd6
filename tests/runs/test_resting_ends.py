"""A case that is not at turn rests, at both ends."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest
from tests.runs.test_dying_among_slices import ENDS, LOADS
from tests.runs.test_turns import case_of

from tinygram_bench.model.result import Case
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.slices import Slices
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import TakesTurns, Waiting
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.stream.run import Stream

SLICE_NS = 20_000_000


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
