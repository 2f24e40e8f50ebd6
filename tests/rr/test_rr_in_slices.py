"""`tinygram rr --slice`: the cases of a load take turns, whoever calls and answers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from tests.support.command import Command, Done, Refused, run_once

from tinygram_bench._native import CallContent, CallLog, RrServer
from tinygram_bench.runs.slices import Slices
from tinygram_bench.workloads.rr.calling import (
    Tally,
    note_all,
    prepared,
    threads_callers,
    threads_shared,
)
from tinygram_bench.workloads.rr.cases import CONNECTIONS
from tinygram_bench.workloads.rr.order import CallOrder, CallTimes, SliceTally, Span, Start

MS = 1_000_000
RUNTIMES = ("threads", "asyncio", "native")
# Long enough that a host which stops does not take all slices of a case.
SHORT = ("--slice", "20ms", "--duration", "600ms", "--rounds", "1", "--callers", "2x3")
SMALL = ("--request", "100", "--reply", "50", "--sends-per-request", "1")


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """All runtimes on all kinds of connections: those of a kind take turns."""
    done = run_once(
        tmp_path_factory.mktemp("in-slices"),
        "rr",
        *(*SHORT, *SMALL),
        *(word for runtime in RUNTIMES for word in ("--runtime", runtime)),
        *(word for kind in CONNECTIONS for word in ("--connections", kind)),
    )
    assert done.code == 0, done.stderr
    return done


@pytest.mark.parametrize(("runtime", "connections"), [*product(RUNTIMES, CONNECTIONS)])
def test_each_run_has_its_figures_slice_by_slice(
    in_slices: Done, runtime: str, connections: str
) -> None:
    of_these = {
        case["case_id"]: case["strategy"]
        for case in in_slices.result["plan"]["cases"]
        if (case["runtime"], case["parameters"]["connections"]) == (runtime, connections)
    }
    runs = [run for run in in_slices.runs if run["case_id"] in of_these]
    assert sorted(of_these[run["case_id"]] for run in runs) == ["nagle", "nodelay"]
    of_the_kind = {
        case["case_id"]
        for case in in_slices.result["plan"]["cases"]
        if case["parameters"]["connections"] == connections
    }
    slices = {
        (run["counters"]["slices"], run["counters"]["slice_lasted_ns"])
        for run in in_slices.runs
        if run["case_id"] in of_the_kind
    }
    assert len(slices) == 1
    ((count, slice_ns),) = slices
    assert slice_ns >= 20 * MS
    assert 1 <= count <= 30
    for run in runs:
        assert run["failure"] is None
        assert run["counters"]["calls"] > run["sample_counts"]["call_ns"] > 0
        for figure in ("calls_per_s", "call_p50_us", "cpu_us_per_call"):
            assert len(run["slices"][figure]) == count
        assert any(each is not None for each in run["slices"]["calls_per_s"])


def test_slices_are_as_long_as_a_few_of_the_slowest_calls(command: Command) -> None:
    """Nagle's algorithm against delayed acknowledgements: 40 ms a call."""
    words = ("--request", "1000", "--sends-per-request", "10", "--connections", "per-caller")
    lone = ("--callers", "1x1", "--duration", "1s", "--slice", "20ms", "--rounds", "1")
    done = command.run(*words, *lone, "--runtime", "native")
    assert done.code == 0, done.stderr
    # 20 calls of 40 ms take 800 ms. Of the warm-up's three calls the first may have no stall.
    assert {run["counters"]["slices"] for run in done.runs} == {1}
    (slice_ns,) = {run["counters"]["slice_lasted_ns"] for run in done.runs}
    assert 500 * MS < slice_ns <= 1_000 * MS
    lasted = f"{round(slice_ns / MS, 1):g}"
    said = " ".join(done.stdout.split())
    assert f"In 2 of 2 runs slices lasted {lasted} ms, longer than the 20 ms planned" in said


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--slice", "2s"), "--slice 2s is longer than the 1s"),
        (("--slice", "1ns"), "--slice 1ns is too short: cases take turns of 1ms at least"),
        (
            ("--slice", "10ms", "--runtime", "asyncio", "--strategy", "coalesce:5ms"),
            "--slice 10ms holds fewer than 4 calls in a row of 5ms (--link, --strategy): name at "
            "least 20ms",
        ),
        (
            ("--slice", "50ms", "--link", "rtt=20ms"),
            "--slice 50ms holds fewer than 4 calls in a row of 20ms (--link, --strategy): name at "
            "least 80ms",
        ),
        (("--slice", "20ms", "--calls", "5"), "--calls cannot be combined with --slice"),
        (("--slice", "20ms", "--scenario", "stall"), "--scenario cannot be combined with --slice"),
        (("--slice", "20ms", "--cross-check"), "--cross-check cannot be combined with --slice"),
        (("--slice", "20ms", "--probe", "10ms"), "--probe cannot be combined with --slice"),
    ],
)
def test_slices_that_cannot_be_are_refused(
    tmp_path: Path, refused: Refused, words: tuple[str, ...], fault: str
) -> None:
    path = tmp_path / "result.json"
    refused(("rr", *words, "--rounds", "1", "--json", str(path)), (fault,))
    assert not path.exists()


def test_a_sweep_of_holds_measures_each_hold_beside_calls_without_one(command: Command) -> None:
    shape = ("--callers", "1x2", "--connections", "per-caller", "--sends-per-request", 2)
    load = ("--request", 100, "--duration", "100ms", "--rounds", 1)
    done = command.run("--sweep", "hold=10us..20us", *shape, *load)
    assert done.code == 0, done.stderr
    strategies = {case["strategy"] for case in done.result["plan"]["cases"]}
    assert {"nodelay", "coalesce:10us", "coalesce:20us"} <= strategies
    assert {run["failure"] for run in done.runs} == {None}
    slices = {case["parameters"]["slice_ns"] for case in done.result["plan"]["cases"]}
    assert slices == {20_000_000}
    assert "Calls per second at each hold" in done.stdout


def noted(start: Start, *of_spans: list[CallTimes]) -> Tally:
    """What one caller noted that made these calls in each span."""
    log = CallLog()
    note_all(log, of_spans)
    return Tally.of_logs([log], start)


def test_a_tally_has_the_calls_that_began_after_a_slice_had_settled() -> None:
    start = Start.in_slices(1_000, Slices((0, 500), 100, 20, over_ns=900))
    assert start.slices == (
        Span(1_000, 1_100, settled_ns=1_020),
        Span(1_500, 1_600, settled_ns=1_520, own_ns=100),
    )
    calls = [
        CallTimes(1_000, 1_000, 1_025),
        CallTimes(1_026, 1_026, 1_040),
        CallTimes(1_045, 1_045, 1_060),
    ]
    tally = noted(start, calls)
    assert tally.slices == [SliceTally([14, 15], 34, 1_060, 3), SliceTally([], 0, 0, 0)]
    assert (tally.calls, tally.call.count, tally.call_time_ns) == (3, 2, 54)


def test_a_caller_that_waits_for_a_connection_has_its_time_in_all_slices_that_it_waits_in() -> None:
    start = Start.in_slices(1_000, Slices((0, 500, 1_000, 1_500), 100, 20, over_ns=1_900))
    # It connects from 1,050 until 2,040, in the second slice after the next.
    stalled = [CallTimes(1_030, 1_035, 1_050), CallTimes(1_050, 2_040, 2_045)]
    tally = noted(start, stalled, [], [CallTimes(2_050, 2_060, 2_070)])
    times_ns = [each.callers_time_ns for each in tally.slices]
    assert times_ns == [1_100 - 1_030, 80, 2_070 - 2_020, 0]


@pytest.mark.parametrize(("runtime", "connections"), [*product(RUNTIMES, CONNECTIONS)])
def test_callers_that_slept_through_a_slice_make_no_call_in_anothers_turn(
    runtime: str, connections: str
) -> None:
    content = CallContent(100, 50, 1)
    with serving(content) as port:
        now_ns = time.monotonic_ns()
        order = order_of(runtime, connections, port)
        callers = prepared(order, content)
        over = Span(now_ns - 20 * MS, now_ns - 10 * MS, settled_ns=now_ns - 18 * MS)
        endless = Span(now_ns, now_ns + 60_000 * MS, 1, settled_ns=now_ns)
        tally = callers.run(Start((over, endless)))
    assert [len(each.calls_ns) for each in tally.slices] == [0, 3]
    assert tally.slices[0].last_ns <= over.end_ns
    assert tally.calls == 3


@pytest.mark.parametrize(
    ("connections", "method"),
    [("per-caller", "run"), ("shared", "run"), ("per-caller", "warm_up"), ("shared", "call")],
)
def test_a_fault_that_nobody_expected_of_a_thread_is_raised_by_who_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, connections: str, method: str
) -> None:
    """Otherwise its calls would be missing, and nothing would say so."""

    def faulty(*_: object) -> None:
        raise LookupError("nobody expected this")

    content = CallContent(100, 50, 1)
    with serving(content) as port:
        if method == "call":
            monkeypatch.setattr(threads_shared, "check_reply", faulty)
        else:
            monkeypatch.setattr(threads_callers.Caller, method, faulty)
        with pytest.raises(LookupError, match="nobody expected this"):
            called_once(order_of("threads", connections, port), content)


def called_once(order: CallOrder, content: CallContent) -> Tally:
    now_ns = time.monotonic_ns()
    return prepared(order, content).run(Start((Span(now_ns, now_ns + 60_000 * MS, 1),)))


def order_of(runtime: str, connections: str, port: int) -> CallOrder:
    return CallOrder(
        host="127.0.0.1",
        port=port,
        runtime=runtime,
        callers=3,
        connections=connections,
        depth=2,
        sends_per_request=1,
        strategy="nodelay",
        request_bytes=100,
        reply_bytes=50,
        checks_replies=True,
        seed=1,
        warm_up_calls=1,
        congestion_control="cubic",
        give_up_ns=time.monotonic_ns() + 60_000 * MS,
    )


@contextmanager
def serving(content: CallContent) -> Iterator[int]:
    """The port of a server of ours, on a thread of this process."""
    server = RrServer(
        content,
        port=0,
        backlog=16,
        is_nodelay=True,
        is_quickack=False,
        congestion_control="cubic",
        max_connections=16,
        idle_ns=60_000 * MS,
    )
    port = server.port
    stop, stopped = os.pipe()
    thread = threading.Thread(target=server.run, args=(stop,))
    thread.start()
    try:
        yield port
    finally:
        os.close(stopped)
        thread.join()
        os.close(stop)
