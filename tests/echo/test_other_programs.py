"""`--server-command`: any program that echoes is measured; one that does not costs its run."""

from __future__ import annotations

import re
import selectors
import shlex
import signal
import socket
import sys
from contextlib import suppress

import pytest
from tests.stream.command import Command, Done, wait_until

from tinygram.bench.network import own_congestion_control, private_network, set_congestion_control

PORT = 9107
LOAD = ("--size", 100, "--workers", 3, "--messages", 600, "--rounds", 1)


def echoing(how: str, port: int = PORT) -> tuple[object, ...]:
    words = [sys.executable, "-m", "tests.echo.programs.echo", str(port), how]
    return (
        *("--server-command", shlex.join(words), "--port", PORT),
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


def can_give_congestion_control(name: str) -> bool:
    with private_network() as network, network.entered():
        if network.is_private:
            with suppress(PermissionError):
                set_congestion_control(name)
        return own_congestion_control() == name


def test_an_honest_one_is_measured_and_its_cpu_time_too(command: Command) -> None:
    done = command.run(*LOAD, *echoing("honest"))
    assert done.code == 0, done.stderr
    counters = done.counters_of()
    assert counters["messages"] == 600
    assert counters["cpu_ns"] > 0
    assert counters["writes"] is None
    [case] = done.result["plan"]["cases"]
    if can_give_congestion_control("cubic"):
        assert "congestion_control" not in barred_by(done)
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


@pytest.mark.parametrize("how", ["short", "silent"])
def test_one_that_swallows_bytes_is_named_when_time_is_up(command: Command, how: str) -> None:
    # Time enough for a busy host to have started it.
    done = command.run(*LOAD, *echoing(how), "--timeout", "5s")
    found = failure_of(done)
    assert re.search(r"worker \d: only \d+ of \d+ bytes had come back when time was up", found)


def test_one_that_ends_before_it_listens_is_named_with_its_reason(command: Command) -> None:
    assert "no time for this" in failure_of(command.run(*LOAD, *echoing("exit-early")))


def test_one_that_never_listens_is_named(command: Command) -> None:
    done = command.run(*LOAD, *echoing("never-listen"), "--timeout", "500ms")
    assert f"did not listen on port {PORT} within 0.5 s" in failure_of(done)


def test_one_that_listens_elsewhere_is_not_taken_for_another(command: Command) -> None:
    done = command.run(*LOAD, *echoing("honest", PORT + 1), "--timeout", "1s")
    assert f"did not listen on port {PORT}" in failure_of(done)


def test_an_interrupted_bench_leaves_no_server_behind(command: Command) -> None:
    process = command.start(*LOAD, *echoing("never-listen"))
    wait_until(lambda: len(command.processes()) > 1, 60.0, "the server is started")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert (done.code, done.runs) == (130, [])


def test_a_server_that_runs_already_is_measured(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        port = listener.getsockname()[1]
        process = command.start(
            *LOAD, *("--server", f"127.0.0.1:{port}", "--only", "runtime=external")
        )
        socks = [listener.accept()[0] for _ in range(3)]
        serve_all(socks)
    done = command.finish(process)
    assert done.code == 0, done.stderr
    assert done.counters_of()["cpu_ns"] is None
    assert set(barred_by(done)["congestion_control"]) >= {"throughput", "round_trip", "both_ways"}
    assert done.result["environment"]["network"] == "the server's"


def serve_all(socks: list[socket.socket]) -> None:
    """Echo until all have ended."""
    with selectors.DefaultSelector() as waiting:
        for each in socks:
            waiting.register(each, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                data = sock.recv(1 << 16)
                if data:
                    sock.sendall(data)
                else:
                    waiting.unregister(sock)
                    sock.close()


def test_a_server_that_is_not_there_fails_the_run(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = command.run(*LOAD, "--server", f"127.0.0.1:{port}", "--only", "runtime=external")
    assert "worker 0: cannot connect: Connection refused" in failure_of(done)
