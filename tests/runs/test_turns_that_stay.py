"""Cases that take turns in slices on processes that stay, round after round, and their failures."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import msgspec
import pytest
from tests.runs.test_turns import case_of, workers

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import StreamParameters, StudySwitches
from tinygram_bench.model.result import Case, Run
from tinygram_bench.runs.bench import running
from tinygram_bench.workloads.stream.run import Stream

SLICE_NS = 20_000_000
SLICES = 20
"""Enough that a host which stops does not take all slices of a way."""
WAYS = ("loop/tinygram/nodelay", "loop/tinygram/tick")


def cases(**load: object) -> list[Case]:
    lasting = {"duration_ns": SLICES * SLICE_NS, "slice_ns": SLICE_NS}
    return [case_of(way, **lasting, **load) for way in WAYS]


def by_name(case: Case) -> str:
    return case.case_id


def checked(runs: Sequence[Run]) -> None:
    for run in runs:
        assert run.failure is None
        assert run.counters["slices"] == SLICES
        assert run.counters["written_bytes"] == run.counters["bytes"]


@pytest.mark.parametrize("load", [{"rates_per_s": [2_000.0]}, {}], ids=["paced", "flat out"])
def test_the_same_processes_serve_one_round_after_the_other(load: dict[str, object]) -> None:
    before = workers()
    with running(Stream(1), by_name) as bench:
        sides = []
        for round in range(3):
            checked(bench.run_cases(cases(**load), round))
            sides.append(workers() - before)
        assert len(sides[0]) == 2 * len(WAYS)
        assert sides[1:] == sides[:1] * 2
        bench.close()
        assert workers() <= before
        checked(bench.run_cases(cases(**load), 3))
        assert (workers() - before).isdisjoint(sides[0])
    assert workers() <= before


def test_a_case_whose_processes_ended_has_fresh_ones_in_the_next_round() -> None:
    before = workers()
    with running(Stream(1), by_name) as bench:
        paced = cases(rates_per_s=[2_000.0])
        checked(bench.run_cases(paced, 0))
        first = workers() - before
        os.kill(max(first), signal.SIGKILL)
        failed = [run for run in bench.run_cases(paced, 1) if run.failure is not None]
        assert len(failed) == 1
        checked(bench.run_cases(paced, 2))
        assert len(first & (workers() - before)) == 2


def test_in_slices_too_what_a_sleeping_pacer_was_late_is_taken_off() -> None:
    asked = [
        msgspec.structs.replace(
            case,
            parameters=msgspec.structs.replace(
                StreamParameters.of(case), study=StudySwitches(pacer_sleeps=True)
            ),
        )
        for case in cases(rates_per_s=[2_000.0])
    ]
    with running(Stream(1)) as bench:
        for run in bench.run_cases(asked, 0):
            assert run.failure is None
            whole, net = (
                Histogram.from_base64(run.histograms[name])
                for name in ("latency_ns", "net_latency_ns")
            )
            assert whole.count == net.count > 0
            assert net.mean_ns < whole.mean_ns
            for name in ("p50", "mean"):
                values = run.slices[f"net_latency_{name}_us"]
                assert len(values) == SLICES
                assert all(each is not None and each > 0 for each in values)
