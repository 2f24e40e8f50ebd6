"""`tinygram echo --rate`: messages are due at times of their own, and count from then."""

from __future__ import annotations

import shlex
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Command, Done, Refused
from tests.support.experiments import histogram
from tests.support.foreign_servers import peer
from tests.support.plans.echo import planned

from tinygram_bench._native import EchoClient, EchoServer, Histogram
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Run
from tinygram_bench.statistics.workloads.loads import Load
from tinygram_bench.workloads.echo.cases import least_message_ns
from tinygram_bench.workloads.echo.order import ClientOrder, Pace, Report
from tinygram_bench.workloads.echo.outcome import Found, assembled

MS = 1_000_000
PORT = 9_111
RATE = 2_000
SLICES = 10
LOAD = ("--size", 100, "--workers", 3, "--depth", 2, "--buffer", "4KiB", "--rounds", 1)
AT_RATE = (*LOAD, "--rate", RATE, "--duration", "200ms")
TWO = ("--only", "threads/recv", "--only", "asyncio/protocol")
DUE = RATE * 200 // 1_000


def times_of(run: Any, name: str = "round_trip_ns") -> Histogram:
    return Histogram.from_base64(run["histograms"][name])


def check_all_told(run: Any) -> None:
    """Each message that was due came back, or is told as one that was not begun."""
    assert run["failure"] is None
    counters = run["counters"]
    assert counters["messages"] + counters["messages_not_begun"] == DUE
    assert counters["bytes"] == counters["messages"] * 100
    # By Little's law, from when they were sent.
    assert counters["round_trips_ns"] <= 3 * 2 * counters["run_time_ns"] * 1.001
    assert "places_empty" not in {warning["code"] for warning in run["warnings"]}


@pytest.mark.parametrize("more", [(), ("--tls",), ("--reply", "per-message")])
def test_in_slices_messages_count_in_the_slice_in_which_they_were_due(
    command: Command, more: tuple[object, ...]
) -> None:
    done = command.run(*AT_RATE, *TWO, *more)
    assert done.code == 0, done.stderr
    assert len(done.runs) == 2
    for run in done.runs:
        check_all_told(run)
        counters = run["counters"]
        assert counters["slices"] == SLICES
        # Six of the forty messages in a slice are due while it settles.
        for name in ("round_trip_ns", "start_delay_ns"):
            assert run["sample_counts"][name] == 34 * SLICES
        values = run["slices"]
        assert len(values["round_trip_p50_us"]) == SLICES
        assert None not in values["round_trip_p50_us"]
        assert counters["middle_messages"] <= counters["messages"]


@pytest.mark.parametrize("arrival", ["constant", "poisson", "onoff"])
def test_alone_all_messages_are_measured(command: Command, arrival: str) -> None:
    done = command.run(*AT_RATE, "--lone", "--arrival", arrival, "--only", "native/epoll")
    assert done.code == 0, done.stderr
    [run] = done.runs
    check_all_told(run)
    assert run["sample_counts"]["round_trip_ns"] == DUE
    assert run["sample_counts"]["start_delay_ns"] == DUE
    assert "middle_messages" not in run["counters"]
    [case] = done.result["plan"]["cases"]
    assert (case["rate_per_s"], case["arrival"], case["burst"]) == (RATE, arrival, 1)
    assert case["case_id"].endswith(f"/per-read/2000-per-s-{arrival}")


def test_without_a_rate_nothing_is_due(command: Command) -> None:
    done = command.run(*LOAD, "--duration", "100ms", "--only", "native/epoll")
    assert done.code == 0, done.stderr
    [run] = done.runs
    assert not {"messages_not_begun", "behind_ns"} & run["counters"].keys()
    assert set(run["histograms"]) == {"round_trip_ns"}


def test_a_program_that_was_started_is_measured_at_a_rate(command: Command) -> None:
    words = [sys.executable, "-m", "tests.support.programs.echo_server", str(PORT), "honest"]
    program = ("--server-command", shlex.join(words), "--port", PORT)
    done = command.run(*AT_RATE, *program, "--only", "native/epoll")
    assert done.code == 0, done.stderr
    assert len(done.runs) == 2
    for run in done.runs:
        check_all_told(run)


def test_a_faulty_server_is_told_at_a_rate_too(command: Command) -> None:
    words = ("--faulty", "whole-buffer", "--only", "runtime=native")
    done = command.run(*AT_RATE, *words)
    assert done.code == 0, done.stderr
    _, faulty = sorted(done.runs, key=lambda run: "whole-buffer" in run["case_id"])
    check_all_told(faulty)
    assert "faulty_server" in {warning["code"] for warning in faulty["warnings"]}


def echoing(wait: Any) -> Any:
    """A server that sends back what it reads, after `wait`."""

    def treat(connection: socket.socket) -> None:
        while data := connection.recv(1 << 16):
            wait()
            connection.sendall(data)

    return treat


def on_running(command: Command, port: int, *words: object) -> Done:
    done = command.run(
        *("--server", f"127.0.0.1:{port}", "--only", "runtime=external", "--pin", "none"),
        *("--size", 100, "--workers", 1, "--rounds", 1, *words),
    )
    assert done.code == 0, done.stderr
    return done


def test_a_server_that_stands_still_is_seen_by_all_messages_that_were_due_meanwhile(
    command: Command,
) -> None:
    """A closed loop sends one message in that time, and so finds one slow round trip (Tene)."""

    def treat(connection: socket.socket) -> None:
        reads = 0
        while data := connection.recv(1 << 16):
            reads += 1
            if reads == 1_024 + 50:  # After the warm-up.
                time.sleep(0.2)
            connection.sendall(data)

    with peer(treat) as port:
        words = ("--depth", 1, "--rate", 500, "--duration", "500ms", "--lone")
        [run] = on_running(command, port, *words).runs
    times = times_of(run)
    assert times.count == 250
    # A hundred messages are due while it stands still, and half of them wait for 100 ms and more.
    assert times.percentile_ns(85) >= 90 * MS


def test_a_rate_that_the_server_cannot_answer_is_told(command: Command) -> None:
    with peer(echoing(lambda: time.sleep(0.002))) as port:
        words = ("--depth", 1, "--rate", "2k", "--duration", "500ms", "--lone")
        [run] = on_running(command, port, *words).runs
    counters = run["counters"]
    assert counters["messages"] + counters["messages_not_begun"] == 1_000
    # It answers 500 a second at most.
    assert counters["messages_not_begun"] >= 700
    assert counters["behind_ns"] >= 300 * MS
    assert run["sample_counts"]["round_trip_ns"] == 1_000
    assert times_of(run).max_ns >= 300 * MS
    [told] = [each for each in run["warnings"] if each["code"] == "fell_behind"]
    assert told["figures"] == ["round_trip_", "start_delay_"]
    assert "above what the server can answer with so many in flight" in told["message"]


def test_a_sweep_of_rates_says_up_to_which_a_limit_is_kept(command: Command) -> None:
    done = command.run(
        *("--sweep", "rate=500..4k", "--limit", "p50<1s", "--rounds", 1, "--duration", "100ms"),
        *("--size", 100, "--only", "native/epoll"),
    )
    assert done.code == 0, done.stderr
    sweep = done.result["plan"]["sweep"]
    assert sweep["limit"] == {"figure": "round_trip_p50_us", "below_us": 1e6}
    rates = {case["rate_per_s"] for case in done.result["plan"]["cases"]}
    assert {500, 4_000} <= rates


def test_a_sweep_of_rates_can_be_of_a_server_that_runs_already(command: Command) -> None:
    with peer(echoing(lambda: None)) as port:
        words = ("--sweep", "rate=500..2k", "--duration", "100ms")
        done = on_running(command, port, *words)
    assert {case["runtime"] for case in done.result["plan"]["cases"]} == {"external"}
    assert all(run["failure"] is None for run in done.runs)


def test_cases_at_rates_are_loads_of_their_own() -> None:
    rates: Any = {"rates_per_s": [1_000.0, 2_500.5, 1_000.0], "arrival": "poisson"}
    plan = planned("runtime=native,runtime=threads", **rates)
    assert {(case.rate_per_s, case.arrival, case.burst) for case in plan.cases} == {
        (1_000.0, "poisson", 1),
        (2_500.5, "poisson", 1),
    }
    assert len({case.case_id for case in plan.cases}) == len(plan.cases)
    assert plan.cases[-1].case_id.endswith("/2500.5-per-s-poisson")
    assert {Load.of(case).is_closed_loop for case in plan.cases} == {False}
    [closed] = planned("runtime=native").cases
    assert (closed.rate_per_s, closed.arrival, closed.burst) == (None, None, None)


@pytest.mark.parametrize("strategy", ["nodelay", "coalesce:10us", "coalesce:10ms"])
def test_slices_are_planned_without_holds_so_that_a_sweep_of_them_takes_turns(
    strategy: str,
) -> None:
    only = "implementation=tinygram,server=protocol"
    plan = planned(only, strategies=[strategy], takes_turns=True, duration_ns=500 * MS)
    assert {EchoParameters.of(case).slice_ns for case in plan.cases} == {20 * MS}


def test_a_slice_has_twenty_messages_where_these_fit_into_the_time() -> None:
    low = planned("runtime=native,runtime=threads", takes_turns=True, rates_per_s=[100.0])
    assert {EchoParameters.of(case).slice_ns for case in low.cases} == {250 * MS}
    assert {least_message_ns(case) for case in low.cases} == {10 * MS}
    # Twenty messages take longer than a run: each case is alone, for all of its time.
    lone = planned("runtime=native,runtime=threads", takes_turns=True, rates_per_s=[30.0])
    assert {EchoParameters.of(case).slice_ns for case in lone.cases} == {None}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--rate", "0"), "0"),
        (("--rate", "1k", "--messages", "5"), "--rate cannot be combined with --messages: only"),
        (("--sweep", "rate=1k..2k", "--messages", "5"), "--sweep rate cannot be combined with"),
        (("--rate", "1k", "--published"), "--rate cannot be combined with --published"),
        (("--arrival", "poisson"), "--arrival needs a schedule: add --rate"),
        (("--rate", "1k", "--arrival", "sometimes"), "constant, poisson, onoff"),
        (("--rate", "1k", "--slice", "10ms"), "fewer than 20 messages at --rate 1000"),
        (("--rate", "300M", "--duration", "1s"), "outside 1 … 100,000,000"),
        (("--rate", "1", "--duration", "100ms"), "is a schedule of 0.1 messages"),
        (("--limit", "p99<1ms"), "--limit p99<1ms needs values to try"),
        (("--limit", "p99<1ms", "--sweep", "size=10..100"), "needs a rate: add --rate"),
        (("--sweep", "rate=1k..2k", "--rate", "1k"), "--rate cannot be combined with --sweep rate"),
        (
            ("--sweep", "size=1..9", "--server", "127.0.0.1:9"),
            "--sweep size cannot be combined with --server: other servers are measured with "
            "--sweep rate alone",
        ),
    ],
)
def test_what_cannot_be_at_a_rate_is_refused(
    tmp_path: Path, refused: Refused, words: tuple[str, ...], fault: str
) -> None:
    path = tmp_path / "result.json"
    refused(("echo", *words, "--json", str(path)), (fault,))
    assert not path.exists()


def run_of(behind_ms: int, in_flight: float, not_begun: int = 10) -> Run:
    """A run of 500 ms at a rate."""
    [case] = planned("runtime=native", rates_per_s=[1_000.0]).cases
    order = ClientOrder(
        host="127.0.0.1",
        port=7_000,
        seed=1,
        message_bytes=1_000,
        workers=5,
        depth=1,
        warm_up=5,
        messages=None,
        duration_ns=500 * MS,
        timeout_ns=1_000 * MS,
        trusts=False,
        polls=True,
        congestion_control="cubic",
        pace=Pace(1_000.0, "constant", 1),
    )
    counters = {
        "messages": 500 - not_begun,
        "messages_not_begun": not_begun,
        "behind_ns": behind_ms * MS,
        "run_time_ns": 500 * MS,
        "round_trips_ns": round(in_flight * 500 * MS),
        "client_cpu_ns": 100 * MS,
    }
    sent = 500 - not_begun
    used = {"cpu_ns": 200 * MS, "writes": sent, "written_bytes": sent * 1_000}
    found = Found({**counters, **used}, 0, ("cubic",), True, has_private_network=True)
    return assembled(
        case, 0, order, Report(0, counters, {"round_trip_ns": histogram([50_000])}, None), found
    )


def test_places_may_be_empty_and_what_fell_behind_is_told() -> None:
    assert run_of(behind_ms=0, in_flight=0.1, not_begun=0).warnings == ()
    # What had not waited for long is 2 % of the messages.
    [warning] = run_of(behind_ms=10, in_flight=0.1).warnings
    assert warning.code == "not_begun"
    assert set(warning.figures) >= {"round_trip_p99", "start_delay_p99", "round_trip_max"}
    [warning] = run_of(behind_ms=11, in_flight=0.1).warnings
    assert warning.code == "fell_behind"
    assert "10 of 500 messages could not be begun" in warning.message
    with pytest.raises(Exception, match=r"6\.00 messages were in flight on average"):
        run_of(behind_ms=0, in_flight=6.0)


def test_a_client_keeps_to_its_schedule_once_and_only_for_a_time() -> None:
    server = EchoServer(0, 4096)
    stop, stopper = socket.socketpair()
    serving = threading.Thread(target=server.serve, args=(stop.fileno(),))
    serving.start()
    try:
        client = EchoClient("127.0.0.1", server.port, 1, 10, 2, 1, None, 5_000 * MS)
        client.keep_to(1_000.0, "constant", 50 * MS, 1)
        with pytest.raises(ValueError, match="a run at a rate ends after a time"):
            client.run(10, None, 5_000 * MS)
        with pytest.raises(ValueError, match='unknown arrival "sometimes"'):
            client.keep_to(1_000.0, "sometimes", 50 * MS, 1)
        client.keep_to(1_000.0, "constant", 50 * MS, 1)
        counters = dict(client.run(None, 50 * MS, 5_000 * MS))
        assert counters["messages"] + counters["messages_not_begun"] == 50
        assert client.start_delays().count == client.round_trips().count == 50
        client.finish(1_000 * MS)
    finally:
        stopper.close()
        serving.join()
