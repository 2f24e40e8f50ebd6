"""Cases whose processes stay take turns, and each run is what fresh processes would give: a
connection, counts and faults."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.plans import echo as echo_plans
from tests.support.plans import sizes as sizes_plans
from tests.support.plans.stream import planned

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import StudySwitches
from tinygram_bench.model.result import Case
from tinygram_bench.runs.bench import Bench, running
from tinygram_bench.runs.workload import Workload
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.run import Rr
from tinygram_bench.workloads.sizes.run import Sizes
from tinygram_bench.workloads.stream.run import Stream, by_runtime_and_link

MESSAGES = 2_000


@pytest.fixture
def bench() -> Iterator[Bench]:
    with running(Stream(1), by_runtime_and_link) as made:
        yield made


def case_of(way: str, **load: Any) -> Case:
    runtime, implementation, strategy = way.split("/")
    only = f"runtime={runtime},implementation={implementation},strategy={strategy}"
    defaults = {"messages": MESSAGES, "timeout_ns": 120_000_000_000}
    return planned(only, **defaults | load).cases[0]


def workers() -> set[int]:
    """The processes whose parent we are."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(os.getpid()) and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


WAYS = ["loop/tinygram/adaptive", "loop/tinygram/nodelay", "loop/stdlib/nagle"]


def test_one_pair_serves_one_run_after_the_other(bench: Bench) -> None:
    before = workers()
    bench.run_case(case_of(WAYS[0]), 0)
    pair = workers() - before
    assert len(pair) == 2
    ports = set()
    for round, way in enumerate(WAYS * 2):
        run = bench.run_case(case_of(way), round)
        assert run.failure is None
        assert run.counters["messages"] == MESSAGES
        # Only its own writes: those of earlier runs are not in it.
        assert run.counters["written_bytes"] == run.counters["bytes"]
        ports.add(run.counters["peer_port"])
    # Two may have the same one by chance.
    assert len(ports) >= len(WAYS) * 2 - 1
    assert workers() - before == pair


def test_each_runtime_has_a_pair_and_all_end_with_the_block() -> None:
    before = workers()
    with running(Stream(1), by_runtime_and_link) as bench:
        for way in ("loop/tinygram/tick", "asyncio/tinygram/tick"):
            assert bench.run_case(case_of(way), 0).failure is None
        assert len(workers() - before) == 4
    assert workers() == before


CASES: dict[str, tuple[Workload, Sequence[Case]]] = {
    "stream": (Stream(1), [case_of(way) for way in WAYS[:2]]),
    "rr": (
        Rr(1),
        plan_rr(
            RrOptions(
                connections=("per-caller", "per-request"),
                sends_per_request=(10,),
                strategies=("nodelay",),
                callers=3,
                calls=20,
                placement="none",
            )
        ).cases,
    ),
    "echo": (
        Echo(1),
        echo_plans.planned(
            "runtime=native", messages=2_000, duration_ns=None, message_bytes=[100, 1_000]
        ).cases,
    ),
    "sizes": (
        Sizes(1),
        sizes_plans.planned(sizes_bytes=[100, 1_000], round_trips=[1]).cases,
    ),
}


@pytest.mark.parametrize("workload", CASES)
def test_cases_of_every_workload_are_up_side_by_side_and_take_turns(workload: str) -> None:
    before = workers()
    made, cases = CASES[workload]
    assert len(cases) >= 2
    with running(made, lambda case: case.case_id) as bench:
        sides: list[set[int]] = []
        for round in range(3):
            for case in cases:
                run = bench.run_case(case, round)
                assert run.failure is None
            sides.append(workers() - before)
        assert len(sides[0]) >= 2 * len(cases)
        assert sides[1:] == sides[:1] * 2
    assert workers() <= before


def test_a_paced_run_has_the_latencies_of_its_round(bench: Bench) -> None:
    case = case_of("asyncio/tinygram/adaptive", rates_per_s=[2_000.0], duration_ns=100_000_000)
    for round in range(3):
        run = bench.run_case(case, round)
        assert run.failure is None
        assert Histogram.from_base64(run.histograms["latency_ns"]).count == 200


def test_flat_out_bursts_are_as_large_as_asked(bench: Bench) -> None:
    case = case_of("loop/tinygram/tick")
    for burst in (1, 16, 64):
        study = StudySwitches(flat_out_burst=burst)
        parameters = msgspec.structs.replace(case.parameters, study=study)
        asked = msgspec.structs.replace(case, parameters=parameters)
        run = bench.run_case(asked, 0)
        assert run.failure is None
        assert run.counters["writes"] == ceil(MESSAGES / burst)


@pytest.mark.parametrize("runtime", ["loop", "asyncio", "threads"])
def test_a_pacer_that_sleeps_spins_nowhere_and_what_it_was_late_is_taken_off(
    bench: Bench, runtime: str
) -> None:
    way = f"{runtime}/tinygram/nodelay"
    case = case_of(way, rates_per_s=[1_000.0], duration_ns=200_000_000)
    asked = msgspec.structs.replace(
        case,
        parameters=msgspec.structs.replace(case.parameters, study=StudySwitches(pacer_sleeps=True)),
    )
    run = bench.run_case(asked, 0)
    assert run.failure is None
    assert run.counters["pacer_spin_cpu_ns"] == 0
    whole, net, late = (
        Histogram.from_base64(run.histograms[name])
        for name in ("latency_ns", "net_latency_ns", "pacing_error_ns")
    )
    assert whole.count == net.count == late.count == 200
    check_netted(whole, net, late)


def test_producers_that_sleep_are_netted_each_with_its_own(bench: Bench) -> None:
    case = case_of("threads/tinygram/adaptive", producers=[4], rates_per_s=[2_000.0])
    asked = msgspec.structs.replace(
        case,
        parameters=msgspec.structs.replace(case.parameters, study=StudySwitches(pacer_sleeps=True)),
    )
    run = bench.run_case(asked, 0)
    assert run.failure is None
    whole, net, late = (
        Histogram.from_base64(run.histograms[name])
        for name in ("latency_ns", "net_latency_ns", "pacing_error_ns")
    )
    check_netted(whole, net, late)


def check_netted(whole: Histogram, net: Histogram, late: Histogram) -> None:
    """Values have three significant digits: beside a long stop they leave little."""
    rounded_ns = (whole.mean_ns + late.mean_ns) / 1_000
    assert whole.mean_ns - late.mean_ns == pytest.approx(
        net.mean_ns, rel=0.01, abs=1_000 + rounded_ns
    )


def test_several_producers_then_one_tell_their_own_turns_alone(bench: Bench) -> None:
    for producers in (3, 1, 2):
        case = case_of("threads/tinygram/adaptive", producers=[producers], rates_per_s=[5_000.0])
        run = bench.run_case(case, 0)
        assert run.failure is None
        assert Histogram.from_base64(run.histograms["latency_ns"]).count == 5_000


def test_a_killed_process_fails_its_run_alone(bench: Bench) -> None:
    before = workers()
    case = case_of(WAYS[0])
    assert bench.run_case(case, 0).failure is None
    for pid in workers() - before:
        os.kill(pid, signal.SIGKILL)
    failure = bench.run_case(case, 1).failure
    assert failure is not None
    assert "was killed by SIGKILL" in failure
    assert bench.run_case(case, 2).failure is None


def test_a_run_that_takes_too_long_fails_and_ends_its_pair(bench: Bench) -> None:
    before = workers()
    case = case_of(WAYS[0], rates_per_s=[1_000.0], duration_ns=5_000_000_000)
    late = msgspec.structs.replace(
        case, parameters=msgspec.structs.replace(case.parameters, timeout_ns=300_000_000)
    )
    failure = bench.run_case(late, 0).failure
    assert failure is not None
    # A host that is slow enough takes as long to start the receiver.
    assert failure.endswith(("sender did not finish within 0.3 s", "did not listen within 0.3 s"))
    assert workers() == before


def test_what_a_sender_cannot_do_is_named(bench: Bench) -> None:
    case = msgspec.structs.replace(case_of(WAYS[0]), strategy="cork")
    failure = bench.run_case(case, 0).failure
    assert failure is not None
    assert failure.startswith("the sender failed with status 1")
