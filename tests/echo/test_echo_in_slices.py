"""`tinygram echo --slice`: the servers of a load are up side by side, and take turns."""

from __future__ import annotations

import shlex
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Command, Done, Refused
from tests.support.foreign_servers import peer
from tests.support.plans.echo import planned
from tests.support.waiting import wait_until

from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.model.result import EVERY_FIGURE
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.workloads.echo.order import InSlices
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.echo.slices import Sliced, figures_of, slice_counters

MS = 1_000_000
PORT = 9_108
SLICES = 10
LOAD = ("--size", 100, "--workers", 3, "--buffer", "4KiB", "--rounds", 1)
SLICED = (*LOAD, "--slice", "20ms", "--duration", "200ms")
LONG = (*LOAD, "--slice", "20ms", "--duration", "2s")
TWO = ("--only", "native/epoll", "--only", "asyncio/protocol")


def echoing(how: str) -> tuple[object, ...]:
    words = [sys.executable, "-m", "tests.support.programs.echo_server", str(PORT), how]
    return ("--server-command", shlex.join(words), "--port", PORT)


def run_of(done: Done, runtime: str) -> Any:
    [run] = [each for each in done.runs if each["case_id"].startswith(f"echo/{runtime}/")]
    return run


def external_run(command: Command, *words: object) -> Any:
    """The run of the program that was started, beside two servers of ours.

    A busy host may wake the bench too late for most edges of slices: then CPU time is not known.
    """
    for _ in range(20):
        done = command.run(*words)
        assert done.code == 0, done.stderr
        assert len(done.runs) == 3
        run = run_of(done, "external")
        if run["counters"]["resting_cpu_ns"] is not None:
            break
    return run


def test_each_server_has_its_figures_slice_by_slice(command: Command) -> None:
    every: dict[str, Any] = {"has_all": True, "strategies": ["nodelay"]}
    cases = planned(buffers_bytes=[4096], **every).cases
    done = command.run(*SLICED, "--depth", 4, "--all", "--strategy", "nodelay")
    assert done.code == 0, done.stderr
    assert len(done.runs) == len(cases)
    check_slices(done)
    assert "throughput_per_s" in {each["figure"] for each in done.result["verdicts"]}


def test_servers_that_reply_to_each_message_have_them_too(command: Command) -> None:
    done = command.run(*SLICED, "--depth", 4, *TWO, "--reply", "per-message")
    assert done.code == 0, done.stderr
    assert done.runs
    check_slices(done)


def check_slices(done: Done) -> None:
    for run in done.runs:
        assert run["failure"] is None
        assert {name: len(values) for name, values in run["slices"].items()} == {
            "throughput_per_s": SLICES,
            "round_trip_p50_us": SLICES,
            "round_trip_max_us": SLICES,
            # 70 % of a slice of 20 ms at 10,000 a second: four slices make a block of 500.
            "round_trip_p99_us": SLICES // 4,
            "round_trip_p99_9_us": 0,
            "cpu_s_per_million": SLICES,
            "late_us": SLICES,
        }
        counters = run["counters"]
        assert counters["slices"] == SLICES
        # Neither what came while a slice settled nor what was in flight at its end is measured.
        assert 0 < counters["middle_messages"] < counters["messages"]
        # Round trips are of what was begun meanwhile, messages what came back: they differ by what
        # is in flight at either end.
        trips = run["sample_counts"]["round_trip_ns"]
        assert abs(trips - counters["middle_messages"]) <= 12 * SLICES
        assert counters["exchanged_bytes"] == 2 * counters["middle_messages"] * 100
        assert counters["written_bytes"] == counters["messages"] * 100
        assert counters["round_trips_ns"] <= 12 * counters["run_time_ns"]


def test_slices_have_time_for_replies_that_are_held_and_this_is_told(command: Command) -> None:
    server = "runtime=asyncio,implementation=tinygram,server=protocol"
    held = ("--only", server, "--strategy", "nodelay", "--strategy", "coalesce:10ms")
    words = ("--size", 100, "--workers", 1, "--rounds", 1, "--duration", "400ms")
    done = command.run(*words, *held)
    assert done.code == 0, done.stderr
    # Twenty messages that come one after the other.
    assert {run["counters"]["slice_lasted_ns"] for run in done.runs} == {200 * MS}
    assert {run["counters"]["slices"] for run in done.runs} == {2}
    said = " ".join(done.stdout.split())
    assert "In 2 of 2 runs slices lasted 200 ms, longer than the 20 ms planned" in said


def test_loads_that_differ_take_turns_apart_and_over_a_link(command: Command) -> None:
    done = command.run(*SLICED, *TWO, "--size", 1000, "--link", "rtt=500us,bandwidth=1gbit")
    assert done.code == 0, done.stderr
    assert len(done.runs) == 4
    for run in done.runs:
        assert run["failure"] is None
        # Three workers, and at most forty round trips in a slice.
        assert 0 < run["counters"]["messages"] <= 3 * 40 * SLICES
        # The relay takes off what a round trip took too long when it was calibrated.
        least_us = 500 - run["link"]["excess_ns"] / 1_000
        assert min(filter(None, run["slices"]["round_trip_p50_us"])) >= least_us


def test_the_end_of_a_slice_waits_for_no_delayed_acknowledgement(command: Command) -> None:
    """Nagle's algorithm holds a reply until the one before is acknowledged, by the next message."""
    words = ("--reply", "per-message", "--depth", 8, "--strategy", "nagle")
    fewest = 60
    for _ in range(3):
        done = command.run(
            *(*LOAD, "--slice", "20ms", "--duration", "400ms", *words),
            *("--only", "runtime=asyncio,implementation=stdlib,server=protocol"),
        )
        assert done.code == 0, done.stderr
        counters = done.counters_of()
        assert counters["slices"] == 20
        fewest = min(fewest, counters["kernel_DelayedACKs"])
        if fewest < 20:
            break
    # Each of three workers would wait for one in each of twenty slices. A host that stops an end
    # for 40 ms brings some more, and takes none away.
    assert fewest < 20


def test_a_program_that_is_started_takes_part(command: Command) -> None:
    run = external_run(command, *SLICED, *TWO, *echoing("honest"))
    assert len(run["slices"]["throughput_per_s"]) == SLICES
    assert any(run["slices"]["cpu_s_per_million"])
    assert run["counters"]["writes"] is None


def test_a_server_that_runs_already_takes_part_without_cpu_time(command: Command) -> None:
    with peer(_echo) as port:
        done = command.run(*SLICED, *TWO, "--server", f"127.0.0.1:{port}")
    assert done.code == 0, done.stderr
    run = run_of(done, "external")
    assert len(run["slices"]["throughput_per_s"]) == SLICES
    assert run["slices"]["cpu_s_per_million"] == [None] * SLICES
    assert run["counters"]["resting_cpu_ns"] is None


def _echo(connection: socket.socket) -> None:
    while data := connection.recv(1 << 16):
        connection.sendall(data)


def test_a_server_that_spins_between_its_slices_is_told(command: Command) -> None:
    words = (*LOAD, "--slice", "20ms", "--duration", "300ms", *TWO, *echoing("spinning"))
    run = external_run(command, *words)
    warnings = {warning["code"]: warning for warning in run["warnings"]}
    assert "the server used" in warnings["not_at_rest"]["message"]
    assert warnings["restless"]["figures"] == list(EVERY_FIGURE)


def test_a_faulty_server_takes_turns_and_is_told(command: Command) -> None:
    words = ("--faulty", "whole-buffer", "--only", "runtime=native")
    done = command.run(*SLICED, *words)
    assert done.code == 0, done.stderr
    honest, faulty = sorted(done.runs, key=lambda run: "whole-buffer" in run["case_id"])
    assert "faulty_server" not in {warning["code"] for warning in honest["warnings"]}
    assert "faulty_server" in {warning["code"] for warning in faulty["warnings"]}
    assert any(faulty["slices"]["throughput_per_s"])


def test_one_that_alters_a_byte_in_its_slices_fails_and_the_others_go_on(command: Command) -> None:
    done = command.run(*SLICED, *TWO, *echoing("altered"))
    assert done.code == 1
    assert "is not the one that was sent" in run_of(done, "external")["failure"]
    assert run_of(done, "native")["failure"] is None


def clients(command: Command) -> list[int]:
    return [pid for pid, name in command.processes().items() if name == "tg-client"]


def test_an_interrupt_among_slices_ends_all_and_writes_nothing(command: Command) -> None:
    process = command.start(*LONG, *TWO)
    wait_until(lambda: len(clients(command)) == 2, 60, "two clients")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert (done.code, done.result) == (ExitCode.INTERRUPTED, None)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--slice", "1s"), "--slice 1s is longer than the 500ms that each case runs"),
        (("--slice", "20ms", "--messages", "10"), "--messages cannot be combined with --slice"),
        (("--slice", "20ms", "--probe", "10ms"), "--probe cannot be combined with --slice"),
        (("--slice", "banana"), "--slice"),
        (("--slice", "1ns"), "--slice 1ns is too short: cases take turns of 1ms at least"),
        (
            ("--slice", "20ms", "--link", "rtt=2ms"),
            "--slice 20ms holds fewer than 20 round trips of 2ms: name at least 40ms",
        ),
    ],
)
def test_slices_that_cannot_be_are_refused(
    tmp_path: Path, refused: Refused, words: tuple[str, ...], fault: str
) -> None:
    path = tmp_path / "result.json"
    native = ("--only", "runtime=native", "--rounds", "1")
    refused(("echo", *words, *native, "--json", str(path)), (fault,))
    assert not path.exists()


def test_without_slices_a_run_has_none(command: Command) -> None:
    done = command.run(*LOAD, "--duration", "100ms", "--only", "native/epoll")
    assert done.code == 0, done.stderr
    [run] = done.runs
    assert not run.get("slices")
    assert not {"slices", "middle_messages", "resting_cpu_ns"} & run["counters"].keys()


def test_a_round_trip_on_a_link_waits_for_all_that_is_in_flight() -> None:
    link = "rtt=2ms,jitter=100us,bandwidth=8mbit"
    case = planned("runtime=native,strategy=nodelay", link=link, workers=2, depth=5).cases[0]
    # 10 messages of 1,000 bytes are on the line for 10 ms.
    assert Echo(1).waits_ns(case) == 2 * MS + 200_000 + 10 * MS
    assert Echo(1).waits_ns(planned("runtime=native").cases[0]) == 0


def test_figures_of_slices_are_of_what_came_back_between_the_marks() -> None:
    found = InSlices(
        messages=(1_000, 0, 500),
        time_ns=(10 * MS, 0, 10 * MS),
        all_messages=(1_250, 5, 700),
        last_ns=(20 * MS, 40 * MS, 65 * MS),
        figures={},
    )
    used = Used((5 * MS, 1 * MS, None), 3 * MS)
    of_slices = Slices((0, 20 * MS, 40 * MS), 20 * MS, 3 * MS)
    assert figures_of(found, of_slices, Sliced(used, 0)) == {
        "throughput_per_s": (100_000.0, None, 50_000.0),
        # Divided by all that came back, while the slice settled and after its end, too.
        "cpu_s_per_million": (4.0, 200.0, None),
        "late_us": (0.0, 0.0, 5_000.0),
    }
    assert slice_counters(found, Sliced(used, 0)) == {
        "slices": 3,
        "resting_cpu_ns": 3 * MS,
        "other_resting_cpu_ns": None,
        "sliced_context_switches": None,
        "sliced_core_wait_ns": None,
        "other_sliced_core_wait_ns": None,
        "sliced_delayed_acks": None,
        "middle_ns": 20 * MS,
    }
