"""`tinygram rr --rate`: calls are due at times of their own, and count from then."""

from __future__ import annotations

import socket
import threading
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Command, Done, Refused, run_once
from tests.support.foreign_servers import Treat, peer, received

from tinygram_bench._native import CallBook, CallLog, Histogram
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.runs.slices import Slices
from tinygram_bench.statistics.workloads.loads import Load, load_name
from tinygram_bench.workloads.rr.calling import RUNTIMES, Tally
from tinygram_bench.workloads.rr.calling.threads_callers import _begins
from tinygram_bench.workloads.rr.cases import CONNECTIONS, RrOptions, plan_rr
from tinygram_bench.workloads.rr.order import CallTimes, Span, Start

MS = 1_000_000
RATE = 500
KINDS = (*CONNECTIONS, "12")
SMALL = ("--request", "100", "--reply", "50", "--sends-per-request", "1", "--strategy", "nodelay")
EACH = [
    (runtime, kind)
    for runtime, kind in product((*RUNTIMES, "native/io_uring"), KINDS)
    # Threads have no many connections, and io_uring has nothing else.
    if (runtime, kind) != ("threads", "12") and (runtime != "native/io_uring" or kind == "12")
]


def measured(tmp_path: Path, *words: object) -> Done:
    done = run_once(
        tmp_path,
        "rr",
        *("--rate", RATE, *SMALL, "--rounds", 1, "--duration", "400ms", "--callers", "2x6"),
        *(word for runtime in (*RUNTIMES, "native/io_uring") for word in ("--runtime", runtime)),
        *(word for kind in KINDS for word in ("--connections", kind)),
        *words,
    )
    assert done.code == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory.mktemp("alone"), "--lone")


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory.mktemp("in-slices"), "--slice", "40ms")


def run_of(done: Done, runtime: str, kind: str) -> dict[str, Any]:
    name, _, implementation = runtime.partition("/")
    connections = "many" if kind.isdigit() else kind
    [case] = [
        case
        for case in done.result["plan"]["cases"]
        if (case["runtime"], case["parameters"]["connections"]) == (name, connections)
        and (case["implementation"] == "io_uring") == (implementation == "io_uring")
    ]
    run: dict[str, Any] = done.run_of(case["case_id"])
    assert run["failure"] is None
    return run


@pytest.mark.parametrize(("runtime", "kind"), EACH)
def test_alone_each_call_that_was_due_is_made_or_is_told(
    alone: Done, runtime: str, kind: str
) -> None:
    if runtime == "native/io_uring" and alone.result["plan"].get("unavailable"):
        pytest.skip("io_uring is not permitted here")
    run = run_of(alone, runtime, kind)
    counters = run["counters"]
    assert counters["calls"] + counters["calls_not_begun"] == RATE * 400 // 1_000
    # Those that were not begun count with the time that they had waited.
    for name in ("call_ns", "start_delay_ns"):
        assert run["sample_counts"][name] == RATE * 400 // 1_000
    # A caller is there all the time, called or not.
    assert counters["callers_time_ns"] >= counters["callers"] * 400 * MS


@pytest.mark.parametrize(("runtime", "kind"), EACH)
def test_in_slices_calls_count_in_the_slice_in_which_they_were_due(
    in_slices: Done, runtime: str, kind: str
) -> None:
    if runtime == "native/io_uring" and in_slices.result["plan"].get("unavailable"):
        pytest.skip("io_uring is not permitted here")
    run = run_of(in_slices, runtime, kind)
    counters = run["counters"]
    slices = counters["slices"]
    assert len(run["slices"]["call_p50_us"]) == slices
    # Slices are lengthened where this host's calls take long, by whatever it does beside.
    due = counters["calls"] + counters["calls_not_begun"]
    assert due <= RATE * 400 // 1_000
    # A sixth of each slice settles, in which calls are made and not measured.
    assert 0 < run["sample_counts"]["call_ns"] < due
    assert run["sample_counts"]["call_ns"] == run["sample_counts"]["start_delay_ns"]


def pausing(after: int, request_bytes: int, pause_s: float) -> Treat:
    """Answer each request with a byte, and stand still once after so many of them."""
    answered = threading.Semaphore(after)

    def treat(connection: socket.socket) -> None:
        while len(received(connection, request_bytes)) == request_bytes:
            if not answered.acquire(blocking=False):
                for _ in range(1 << 20):
                    answered.release()
                time.sleep(pause_s)
            connection.sendall(b"x")

    return treat


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_server_that_stands_still_is_seen_by_all_calls_that_were_due_meanwhile(
    command: Command, runtime: str
) -> None:
    """A closed loop makes one call in that time, and so finds one slow call (Tene)."""
    words = (
        "--connections",
        "per-caller",
        "--callers",
        "1x1",
        "--request",
        100,
        "--reply-bytes",
        1,
    )
    more = ("--sends-per-request", 1, "--strategy", "nodelay", "--runtime", runtime)
    with peer(pausing(50, 100, 0.2)) as port:
        done = command.run(
            *(*words, *more, "--rate", 500, "--duration", "500ms", "--rounds", 1, "--lone"),
            *("--server", f"127.0.0.1:{port}", "--pin", "none"),
        )
    assert done.code == 0, done.stderr
    [run] = done.runs
    times = Histogram.from_base64(run["histograms"]["call_ns"])
    assert times.count == 250
    # A hundred calls are due while it stands still, and half of them wait for 100 ms and more.
    assert times.percentile_ns(85) >= 90 * MS


def test_a_rate_that_callers_cannot_make_is_told(command: Command) -> None:
    def slow(connection: socket.socket) -> None:
        while len(received(connection, 100)) == 100:
            time.sleep(0.02)
            connection.sendall(b"x")

    with peer(slow) as port:
        done = command.run(
            *("--connections", "per-caller", "--callers", "1x1", "--request", 100),
            *("--reply-bytes", 1, "--sends-per-request", 1, "--strategy", "nodelay"),
            *("--runtime", "native", "--rate", 200, "--duration", "500ms", "--rounds", 1),
            *("--server", f"127.0.0.1:{port}", "--pin", "none"),
        )
    assert done.code == 0, done.stderr
    [run] = done.runs
    assert run["counters"]["calls_not_begun"] >= 70
    assert run["counters"]["behind_ns"] >= 300 * MS
    [told] = [each for each in run["warnings"] if each["code"] == "fell_behind"]
    assert told["figures"] == ["call_", "start_delay_"]
    assert "this rate is above what these callers can make" in told["message"]


def test_a_sweep_of_rates_says_up_to_which_a_limit_is_kept(command: Command) -> None:
    done = command.run(
        *("--sweep", "rate=100..2k", "--limit", "p50<1s", "--rounds", 1, "--duration", "200ms"),
        *("--runtime", "native", "--connections", 8, *SMALL),
    )
    assert done.code == 0, done.stderr
    assert done.result["plan"]["sweep"]["limit"] == {"figure": "call_p50_us", "below_us": 1e6}
    rates = {case["rate_per_s"] for case in done.result["plan"]["cases"]}
    assert {100, 2_000} <= rates
    assert "With median call time below 1 s: native/nodelay sustains" in done.stdout


def test_cases_at_rates_are_loads_of_their_own() -> None:
    plan = plan_rr(
        RrOptions(
            rates_per_s=(1_000.0, 2_500.5),
            arrival="poisson",
            connections=("per-caller",),
            sends_per_request=(1,),
            takes_turns=True,
        )
    )
    assert [(case.rate_per_s, case.arrival, case.burst) for case in plan.cases] == [
        (1_000, "poisson", 1),
        (1_000, "poisson", 1),
        (2_500.5, "poisson", 1),
        (2_500.5, "poisson", 1),
    ]
    assert plan.cases[0].case_id.endswith("/1000-per-s-poisson")
    assert plan.cases[2].case_id.endswith("/2500.5-per-s-poisson")
    assert load_name(plan.cases[0]) == "rr 1,000/s"
    assert load_name(plan.cases[2]) == "rr 2,500.5/s"
    assert Load.of(plan.cases[0]).compared_figures[0] == "call_p50_us"
    # Twenty calls of the slower rate take 20 ms, and no slice is shorter than that.
    assert [RrParameters.of(case).slice_ns for case in plan.cases] == [20 * MS] * 4


def test_a_slice_has_twenty_calls_at_a_low_rate() -> None:
    plan = plan_rr(RrOptions(rates_per_s=(100.0,), connections=("per-caller",), takes_turns=True))
    assert {RrParameters.of(case).slice_ns for case in plan.cases} == {200 * MS}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--rate", "0"), "the rate '0' is not above 0"),
        (("--rate", "1k", "--calls", "5"), "--rate cannot be combined with --calls: only without"),
        (
            ("--rate", "1k", "--scenario", "delayed-ack-stall"),
            "--rate cannot be combined with --scenario",
        ),
        (("--rate", "1k", "--cross-check"), "--rate cannot be combined with --cross-check"),
        (("--rate", "1k", "--published"), "--rate cannot be combined with --published"),
        (("--arrival", "poisson"), "--arrival needs a schedule: add --rate"),
        (("--rate", "1k", "--arrival", "sometimes"), "constant, poisson, onoff"),
        (("--rate", "1k", "--slice", "5ms"), "fewer than 20 calls at --rate 1000"),
        (("--rate", "100M", "--duration", "1s"), "outside 1 … 10,000,000"),
        (("--rate", "1", "--duration", "100ms"), "is a schedule of 0.1 calls"),
        # Half of a call would round to one, which is due after the end.
        (("--rate", "1", "--duration", "600ms"), "is a schedule of 0.6 calls"),
        (("--limit", "p99<1ms"), "--limit p99<1ms needs values to try"),
        (("--limit", "p99<1ms", "--sweep", "size=10..100"), "needs a rate: add --rate"),
        (("--sweep", "rate=1k..2k", "--rate", "1k"), "--rate cannot be combined with --sweep rate"),
        (
            ("--sweep", "size=1..9", "--server", "127.0.0.1:9"),
            "other servers are measured with --sweep rate alone",
        ),
    ],
)
def test_what_cannot_be_at_a_rate_is_refused(
    tmp_path: Path, refused: Refused, words: tuple[str, ...], fault: str
) -> None:
    path = tmp_path / "result.json"
    refused(("rr", *words, "--json", str(path)), (fault,))
    assert not path.exists()


def test_the_processes_of_a_case_share_its_calls() -> None:
    whole = CallBook(1_000.0, "poisson", 100 * MS, 1, (0, 1), 1).of(0)
    shares = [CallBook(1_000.0, "poisson", 100 * MS, 1, (number, 3), 2) for number in range(3)]
    of_each = [share.of(caller) for share in shares for caller in range(2)]
    assert sorted(due_ns for due in of_each for due_ns in due) == whole
    assert shares[1].of(0) == whole[1::6]
    with pytest.raises(ValueError, match="there is no caller 2"):
        shares[0].take(2)
    with pytest.raises(ValueError, match="a share is of at least one process"):
        CallBook(1_000.0, "poisson", MS, 1, (1, 1), 1)


def test_a_call_counts_from_when_it_was_due_and_time_between_slices_does_not_pass() -> None:
    slices = Slices((0, 4_000), 100, 20, over_ns=9_000)
    start = Start.in_slices(1_000, slices)
    log = CallLog(is_at_a_rate=True)

    def made(span: int, due_ns: int, called_ns: int, ended_ns: int) -> None:
        log.note(span, CallTimes(called_ns, called_ns, ended_ns), due_ns)

    made(0, 20, 1_020, 1_025)  # It was due as the slice settled, and is not measured.
    made(0, 30, 1_031, 1_040)
    made(1, 90, 5_001, 5_006)  # It was due 10 ns before the first slice ended.
    made(1, 150, 5_050, 5_057)
    log.end([60, 180])
    tally = Tally.of_logs([log], start)
    assert [each.calls_ns for each in tally.slices] == [[10, 16, 140], [7, 20]]
    # They used the CPU in the slices in which they were made.
    assert [(each.calls, each.last_ns) for each in tally.slices] == [(2, 1_040), (2, 5_057)]
    assert (tally.calls, tally.calls_not_begun, tally.behind_ns) == (4, 2, 140)
    assert tally.call_time_ns == 5 + 9 + 5 + 7
    # It was there in both slices, all the time.
    assert tally.callers_time_ns == 200


def test_after_the_last_slice_no_call_is_begun() -> None:
    now_ns = time.monotonic_ns()
    book = CallBook(1_000.0, "constant", 10 * MS, 1, (0, 1), 1)
    book.begin_span((now_ns - 20 * MS, None, now_ns - 10 * MS, None, 0))
    while book.release() is not None:
        pass
    left = book.not_begun(0)
    assert len(left) == 10
    over = Span(now_ns + 5 * MS, now_ns + 5 * MS, calls=0, own_ns=10 * MS)
    book.begin_span(over.native)
    assert book.take(0) is None
    assert not _begins(over, left[0])
    assert book.not_begun(0) == left
