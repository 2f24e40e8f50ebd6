"""`--server-command`: any program that echoes is measured; one that does not costs its run."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.command import Command, Done
from tests.support.foreign_servers import peer
from tests.support.waiting import wait_until

from tinygram_bench.host.network.settings import check_congestion_control, own_congestion_control
from tinygram_bench.model.errors import UsageError

PORT, OTHER_PORT = 9107, 9110
LOAD = ("--size", 100, "--workers", 3, "--messages", 600, "--rounds", 1)


def echoing(*how: str, port: int = PORT) -> tuple[object, ...]:
    words = [sys.executable, "-m", "tests.support.programs.echo_server", str(port), *how]
    return (
        *("--server-command", shlex.join(words), "--port", port),
        *("--only", "runtime=external"),
    )


def failure_of(done: Done) -> str:
    assert done.code == 1
    [run] = done.runs
    assert (run["counters"], run["histograms"]) == ({}, {})
    assert "Traceback" not in done.stderr
    failure = run["failure"]
    assert isinstance(failure, str)
    return failure


def barred_by(done: Done) -> dict[str, list[str]]:
    """The figures that each warning of the only run bars."""
    [run] = done.runs
    return {warning["code"]: warning["figures"] for warning in run["warnings"]}


def test_an_honest_one_is_measured_and_its_cpu_time_too(command: Command) -> None:
    done = command.run(*LOAD, *echoing("honest"))
    assert done.code == 0, done.stderr
    counters = done.counters_of()
    assert counters["messages"] == 600
    assert counters["cpu_ns"] > 0
    assert counters["writes"] is None
    [case] = done.result["plan"]["cases"]
    assert (case["runtime"], case["implementation"]) == ("external", "external")


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("altered", r"worker \d: byte \d+ that came back is not the one that was sent"),
        ("constant", r"worker \d: byte \d+ that came back is not the one that was sent"),
        ("doubled", r"worker \d: \d+ bytes came back, and only \d+ had been sent"),
        ("whole-buffer", r"worker \d: \d+ bytes came back, and only 100 had been sent"),
        ("hang-up", r"worker \d: the server ended the connection after \d+ of \d+ bytes"),
        ("die", r"worker \d: the (server ended the )?connection .*killed by SIGKILL"),
    ],
)
def test_one_that_is_no_echo_is_named_with_the_worker(
    command: Command, how: str, fault: str
) -> None:
    assert re.search(fault, failure_of(command.run(*LOAD, *echoing(how))))


def test_those_that_swallow_bytes_are_named_when_time_is_up(tmp_path: Path) -> None:
    """Each takes all of its time, so both do at once."""
    of_each = {"short": PORT, "silent": OTHER_PORT}
    commands = []
    for how in of_each:
        (tmp_path / how).mkdir()
        commands.append(Command(tmp_path / how, "echo"))
    try:
        started = [
            # Time enough for a busy host to have started it.
            command.start(*LOAD, *echoing(how, port=port), "--timeout", "10s")
            for command, (how, port) in zip(commands, of_each.items(), strict=True)
        ]
        for command, process in zip(commands, started, strict=True):
            found = failure_of(command.finish(process))
            said = r"worker \d: only \d+ of \d+ bytes had come back when time was up"
            assert re.search(said, found), found
    finally:
        for command in commands:
            command.end()


OVER = [(), ("--link", "veth")]


@pytest.mark.parametrize("link", OVER, ids=["loopback", "veth"])
def test_a_server_that_sets_its_own_congestion_control_is_comparable(
    command: Command, link: tuple[str, ...]
) -> None:
    """Whatever is its network's own: that may be another, and may not be changed."""
    asked = ("--congestion-control", "reno", *link)
    done = command.run(*LOAD, *asked, *echoing("honest", "reno"))
    assert done.code == 0, done.stderr
    assert "congestion_control" not in barred_by(done)


def another_congestion_control_than(name: str) -> str:
    """One that this user may have."""
    for other in ("cubic", own_congestion_control()):
        with suppress(UsageError):
            check_congestion_control(other)
            if other != name:
                return other
    pytest.skip(f"the kernel permits this user {name} alone")


@pytest.mark.parametrize("link", OVER, ids=["loopback", "veth"])
def test_what_its_replies_went_under_is_looked_at_and_not_asserted(
    command: Command, link: tuple[str, ...]
) -> None:
    ours = another_congestion_control_than("reno")
    done = command.run(*LOAD, "--congestion-control", ours, *link, *echoing("honest", "reno"))
    assert done.code == 0, done.stderr
    assert "throughput" in barred_by(done)["congestion_control"]
    [run] = done.runs
    [message] = [w["message"] for w in run["warnings"] if w["code"] == "congestion_control"]
    assert message.startswith(f"its replies went under reno, those of our servers under {ours}")


def test_an_interrupted_bench_leaves_no_server_behind(command: Command) -> None:
    process = command.start(*LOAD, *echoing("never-listen"))
    wait_until(lambda: len(command.processes()) > 1, 60.0, "the server is started")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert (done.code, done.result) == (130, None)


def test_a_server_that_runs_already_is_measured(command: Command) -> None:
    with peer(echo) as port:
        done = command.run(
            *(*LOAD, "--congestion-control", "reno"),
            *("--server", f"127.0.0.1:{port}", "--only", "runtime=external"),
        )
    assert done.code == 0, done.stderr
    assert done.counters_of()["cpu_ns"] is None
    # It is known though nobody here has started the server.
    assert "congestion_control" not in barred_by(done)
    assert done.result["environment"]["network"] == "the server's"


def echo(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    while data := connection.recv(1 << 16):
        connection.sendall(data)
