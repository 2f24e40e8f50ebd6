"""`rr --connections NUMBER`: every way, end to end, and what is refused."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from tests.support.command import Done, Refused, run_once

from tinygram_bench._native import CallLog
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.statistics.workloads.rr import compared_pairs
from tinygram_bench.workloads.rr.calling import ON_MANY, Tally
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.order import CallTimes, Span, Start
from tinygram_bench.workloads.rr.withheld import REQUESTS

CONNECTIONS = 300
"""More than are made at a time."""
CALLS, WARM_UP, SENDS = 3, 2, 3
WAYS = [
    f"{name}/{strategy}"
    for name, known in ON_MANY.items()
    if known.missing() is None
    for strategy in ("nodelay", "adaptive")
    if strategy in known.strategies
]
SHAPE = ("--request", 1_000, "--sends-per-request", SENDS, "--rounds", 1)
MOST = 10_000


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Done:
    load = ("--calls", CALLS, "--warm-up", WARM_UP)
    return measured(tmp_path_factory, *load)


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory, "--duration", "600ms")


def measured(tmp_path_factory: pytest.TempPathFactory, *load: object) -> Done:
    asked = ("--connections", CONNECTIONS, *SHAPE, *load)
    return run_once(tmp_path_factory.mktemp("many"), "rr", *asked)


def test_every_call_of_every_way_is_counted_on_both_sides(counted: Done) -> None:
    assert counted.code == 0, counted.stderr
    assert len(counted.runs) == len(WAYS)
    for way in WAYS:
        counters = counted.run_of(f"rr/{way}/")["counters"]
        assert counters["calls"] == CONNECTIONS * CALLS
        assert counters["callers"] == CONNECTIONS
        assert counters["server_requests"] == CONNECTIONS * (CALLS + WARM_UP) + REQUESTS
        assert counters["server_connections"] == CONNECTIONS + REQUESTS
        assert counters["kernel_ListenOverflows"] in (0, None)
    assert f"{CONNECTIONS} connections" in counted.stdout


def test_in_slices_no_caller_is_in_two_calls_at_a_time(in_slices: Done) -> None:
    assert in_slices.code == 0, in_slices.stderr
    for way in WAYS:
        run = in_slices.run_of(f"rr/{way}/")
        counters = run["counters"]
        assert run["slices"]["calls_per_s"]
        assert counters["call_time_ns"] <= counters["callers_time_ns"]
    compared = {
        verdict["case_id"].split("/loopback/")[0] for verdict in in_slices.result["verdicts"]
    }
    assert {"rr/asyncio/adaptive", "rr/native/nodelay"} <= compared
    # All ways of calling take turns with each other.
    counts = {run["counters"]["slices"] for run in in_slices.runs}
    assert len(counts) == 1


def test_ten_thousand_connections_of_one_process_are_served(tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < MOST + 100:
        pytest.skip(f"a process may have {most} descriptors here, and this needs {MOST + 100}")
    names = [
        name for name in ON_MANY if name.startswith("native") and ON_MANY[name].missing() is None
    ]
    done = run_once(
        *(tmp_path, "rr", "--connections", MOST, "--request", 100, "--sends-per-request", 1),
        *(word for name in names for word in ("--runtime", name)),
        *("--rounds", 1, "--lone", "--calls", 1, "--warm-up", 1),
    )
    assert done.code == 0, done.stderr
    for name in names:
        counters = done.run_of(f"rr/{name}/nodelay/")["counters"]
        assert counters["calls"] == MOST
        assert counters["server_most_connections"] >= MOST
        assert counters["server_evicted_connections"] == 0


def test_a_number_and_a_word_have_the_runtimes_that_each_has() -> None:
    options = RrOptions(
        runtimes=("threads", "native"),
        connections=("per-caller", "500"),
        sends_per_request=(1,),
        strategies=("nodelay",),
    )
    cases = plan_rr(options).cases
    found = [
        (case.runtime, RrParameters.of(case).connections, case.producers, case.connections)
        for case in cases
    ]
    assert found == [
        ("threads", "per-caller", 200, 200),
        ("native", "per-caller", 200, 200),
        ("native", "many", 500, 500),
    ]
    assert len({case.case_id for case in cases}) == 3
    assert RrParameters.of(cases[-1]).processes == 1


def test_a_ring_is_compared_with_epoll_the_library_with_writing_by_hand_and_runtimes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tinygram_bench._native.io_uring_refusal", lambda: None)
    options = RrOptions(
        runtimes=("asyncio", "native", "native/io_uring"),
        connections=("9",),
        sends_per_request=(1,),
    )
    cases = plan_rr(options).cases
    ways = {case.case_id: case.case_id.split("/loopback/")[0] for case in cases}
    assert [(ways[one], ways[other]) for one, other in compared_pairs(cases)] == [
        ("rr/asyncio/nodelay", "rr/asyncio/adaptive"),
        ("rr/asyncio/nodelay", "rr/native/nodelay"),
        ("rr/native/nodelay", "rr/native/io_uring/nodelay"),
    ]


def test_a_kernel_without_io_uring_has_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygram_bench._native.io_uring_refusal", lambda: "not permitted")
    plan = plan_rr(RrOptions(connections=("9",), sends_per_request=(1,)))
    [absent] = plan.unavailable
    assert absent.case.implementation == "io_uring"
    assert "io_uring (not permitted)" in absent.reason
    with pytest.raises(UsageError, match=r"nothing to run: .*io_uring"):
        plan_rr(RrOptions(connections=("9",), runtimes=("native/io_uring",)))


def test_slices_of_thousands_of_callers_are_summed_up_in_one_list() -> None:
    logs = [CallLog() for _ in range(3_000)]
    for log in logs:
        log.note(0, CallTimes(200, 200, 300))
    tally = Tally.of_logs(logs, Start((Span(start_ns=0, end_ns=1_000, settled_ns=100),)))
    [found] = tally.slices
    assert (found.calls, len(found.calls_ns), found.callers_time_ns) == (3_000, 3_000, 300_000)
    assert tally.calls == tally.call.count == 3_000


REFUSED = [
    (("--connections", "0"), ("--connections 0", "1 … 10000")),
    (("--connections", "10001"), ("--connections 10001", "1 … 10000")),
    (("--connections", "-5"), ("'-5'", "per-caller", "1 to 10000")),
    (("--connections", "9" * 5_000), ("unknown --connections", "1 to 10000")),
    (("--connections", "05"), ("unknown --connections '05'", "1 to 10000")),
    (("--connections", "5", "--callers", "2x3"), ("--callers", "--connections 5", "leave out")),
    (("--connections", "5", "--runtime", "threads"), ("'threads'", "--connections 5", "asyncio")),
    (("--connections", "5", "--runtime", "native", "--runtime", "threads"), ("'threads'",)),
    (("--connections", "9000", "--request", "1MiB"), ("256 MiB", "fewer connections")),
    (("--connections", "5", "--tls", "--runtime", "native"), ("native", "--tls")),
    (("--connections", "5", "--strategy", "cork"), ("'cork'", "nodelay")),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_one_line_names_the_value_and_the_remedy(
    words: tuple[str, ...], said: tuple[str, ...], refused: Refused
) -> None:
    refused(("rr", *words), said)


def test_more_connections_than_descriptors_are_refused_with_the_limit(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    refused(
        ("rr", "--connections", "1000"),
        ("--connections 1000 needs 2100 descriptors", "RLIMIT_NOFILE", "ulimit -Hn 2100"),
    )
