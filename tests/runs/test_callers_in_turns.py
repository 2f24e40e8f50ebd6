"""The cases of a load of `rr` are up side by side, whoever calls and answers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.slices import Slices
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Waiting
from tinygram_bench.statistics.workloads.loads import turns_of
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.run import Rr

MS = 1_000_000
LOADS: dict[str, dict[str, Any]] = {
    "on every runtime, in processes": {
        "runtimes": ("threads", "asyncio", "uvloop", "native"),
        "strategies": ("nodelay",),
        "connections": ("per-caller",),
        "processes": 2,
    },
    "by servers of every runtime": {
        "runtimes": ("threads", "native"),
        "servers": ("native", "asyncio", "uvloop"),
        "server_strategies": ("nagle", "nodelay"),
        "strategies": ("nodelay",),
        "connections": ("per-request",),
    },
    "on many connections, at a rate": {
        "strategies": ("nodelay", "adaptive"),
        "connections": ("20",),
        "rates_per_s": (2_000.0,),
    },
    "over TLS": {
        "runtimes": ("threads", "asyncio"),
        "servers": ("asyncio", "uvloop"),
        "strategies": ("nodelay",),
        "connections": ("per-caller",),
        "tls": (True,),
    },
}


def cases_of(load: str) -> tuple[Case, ...]:
    usual: dict[str, Any] = {"processes": 1, "callers": 2, "sends_per_request": (1,)}
    shape = {"request_bytes": 100, "reply_bytes": 50, "duration_ns": 300 * MS, "placement": "none"}
    return plan_rr(RrOptions(**usual | shape | LOADS[load], takes_turns=True)).cases


@pytest.mark.parametrize("load", LOADS)
def test_each_has_a_slice_in_each_cycle_and_no_two_have_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch, load: str
) -> None:
    cases = cases_of(load)
    assert len(cases) >= 4
    assert len({turns_of(case) for case in cases}) == 1
    slices_of: dict[str, Slices] = {}
    alive: set[int] = set()
    warmed_up = Rr.warmed_up

    def noting(self: Rr, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        waiting = warmed_up(self, turn, address, slices)
        slices_of[turn.case.case_id] = slices
        alive.update(waiting.pids, waiting.resting_pids)
        return waiting

    monkeypatch.setattr(Rr, "warmed_up", noting)
    with running(Rr(1)) as bench:
        runs = bench.run_cases(cases, 0)
    assert [run.failure for run in runs] == [None] * len(cases)
    # Each has a server and processes of callers of its own.
    assert len(alive) == sum(1 + RrParameters.of(case).processes for case in cases)
    first, *others = slices_of.values()
    for cycle in zip(first.begins_ns, *(each.begins_ns for each in others), strict=True):
        for before_ns, next_ns in pairwise(sorted(cycle)):
            assert next_ns - before_ns > first.slice_ns
    for run in runs:
        assert run.counters["slices"] == len(first.begins_ns)
        assert run.counters["slice_lasted_ns"] == first.slice_ns >= 20 * MS
        assert any(run.slices["call_p50_us"])
