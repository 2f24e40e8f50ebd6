"""A far end that `tinygram serve` starts: what is measured, and what happens when it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest
from tests.support.command import Command
from tests.support.processes import children_of
from tests.support.serve_command import serving
from tests.support.waiting import wait_until

STREAM = ("--only", "loop/nodelay", "--rounds", 1)
FANOUT = ("fanout", "--rounds", 1, "--subscribers", 20, "--duration", "300ms")
ROUNDS = 5
"""Enough rounds that some are left when a busy host looks for the second one late."""
LATEST_S = 60.0
"""Far more than it takes to tell, and half of what a run may take that nobody ends."""

# What has no number of messages goes on for long enough on a host that stops for a while.
WORKLOADS = {
    "stream flat out in slices": ("stream", *STREAM, "--duration", "300ms"),
    "stream paced in slices": ("stream", *STREAM, "--rate", "1k", "--duration", "200ms"),
    "stream paced alone": ("stream", *STREAM, "--rate", "1k", "--duration", "100ms", "--lone"),
    "stream of producers": (
        *("stream", "--only", "threads/tinygram/combine", "--rounds", 1),
        *("--producers", 2, "--duration", "300ms"),
    ),
    "stream on many connections": (
        *("stream", "--only", "asyncio/nodelay", "--rounds", 1, "--connections", 50),
        *("--rate", "5k", "--duration", "300ms"),
    ),
    "rr": (
        *("rr", "--rounds", 1, "--callers", "1x2", "--duration", "300ms", "--runtime", "native"),
        *("--strategy", "nodelay", "--connections", "per-caller", "--sends-per-request", 1),
    ),
    "rr of event loops": (
        *("rr", "--rounds", 1, "--callers", "1x2", "--duration", "300ms", "--runtime", "asyncio"),
        *("--server-runtime", "asyncio", "--strategy", "nodelay", "--sends-per-request", 1),
        *("--connections", "per-request"),
    ),
    "rr of threads": (
        *("rr", "--rounds", 1, "--callers", "1x2", "--duration", "300ms", "--runtime", "threads"),
        *("--strategy", "nodelay", "--sends-per-request", 1, "--connections", "per-request"),
    ),
    "echo of an event loop": (
        *("echo", "--rounds", 1, "--only", "asyncio/streams", "--size", 1000),
        *("--duration", "300ms"),
    ),
    "echo": (
        *("echo", "--rounds", 1, "--only", "threads/recv", "--size", 1000),
        *("--duration", "300ms"),
    ),
    "fanout flat out in slices": (*FANOUT, "--only", "native/epoll"),
    "fanout paced alone": (*FANOUT, "--only", "asyncio/protocol", "--rate", 100, "--lone"),
    "sizes": (
        *("sizes", "--rounds", 1, "--sizes", "1,1000", "--round-trips", "0,1"),
        *("--samples", 100, "--first", 2),
    ),
}


# What differs by the kind of address is in the connections, which each of these makes its own way.
OVER_IPV6 = (
    *("stream paced in slices", "rr", "echo of an event loop", "fanout paced alone"),
    "sizes",
)


@pytest.fixture(scope="module")
def server_on() -> Iterator[Callable[[str], str]]:
    """What `--server` names: one server on each address for all tests that leave it running."""
    with ExitStack() as stack:

        @cache
        def server_on(host: str) -> str:
            port = stack.enter_context(serving("--port", 0, "--bind", host)).port
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

        yield server_on


@pytest.mark.parametrize(
    ("name", "host"),
    [*((name, "127.0.0.1") for name in WORKLOADS), *((name, "::1") for name in OVER_IPV6)],
)
def test_every_workload_has_its_far_end_on_the_other_host(
    tmp_path: Path, server_on: Callable[[str], str], name: str, host: str
) -> None:
    workload, *options = WORKLOADS[name]
    done = Command(tmp_path, str(workload)).run(*options, "--server", server_on(host))
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.runs] == [None] * len(done.runs)
    exchanged = [case for case in done.result["plan"]["cases"] if case["link"] == "remote"]
    assert exchanged
    assert done.result["environment"]["far"]["tinygram"]
    if workload in ("stream", "fanout"):
        bound_ns = done.counters_of()["clock_bound_ns"]
        assert bound_ns > done.counters_of()["clock_round_trip_ns"] // 2


def _in_its_second_round(command: Command, port: int) -> subprocess.Popen[str]:
    """A measurement of some rounds, of which the first is kept."""
    process = command.start(
        *("--only", "loop/nodelay", "--rounds", ROUNDS, "--rate", "1k", "--duration", "2s"),
        *("--server", f"127.0.0.1:{port}"),
    )
    while not command.result_path.exists():
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_a_server_that_dies_is_told_and_finished_rounds_are_kept(tmp_path: Path) -> None:
    command = Command(tmp_path, "stream")
    with _server() as (server, port):
        process = _in_its_second_round(command, port)
        server.kill()
        killed_s = time.monotonic()
        done = command.finish(process)
    assert time.monotonic() - killed_s < LATEST_S
    assert done.code == 1
    failures = [run["failure"] for run in done.runs]
    kept = len(list(takewhile(lambda failure: failure is None, failures)))
    # That it cannot be made again is known after a round without it.
    assert 1 <= kept <= len(failures) - 2 == ROUNDS - 2
    for failure in failures[kept:]:
        assert "--server 127.0.0.1" in failure or "the clock of 127.0.0.1" in failure
        assert "see that `tinygram serve` runs there" in failure
    assert "cannot be made again" in failures[-1]


def test_a_client_that_dies_leaves_no_process_and_the_next_is_served(tmp_path: Path) -> None:
    command = Command(tmp_path, "stream")
    with _server() as (server, port):
        process = _in_its_second_round(command, port)
        assert children_of(server.pid)
        process.kill()
        killed_s = time.monotonic()
        process.communicate()
        wait_until(lambda: not children_of(server.pid), LATEST_S, "its processes have ended")
        next_one = Command(_folder(tmp_path), "stream")
        done = next_one.run(*STREAM, "--duration", "300ms", "--server", f"127.0.0.1:{port}")
    assert done.code == 0, done.stderr
    assert time.monotonic() - killed_s < 2 * LATEST_S


def test_a_server_that_is_started_again_is_reached_again(tmp_path: Path) -> None:
    command = Command(tmp_path, "stream")
    with _server() as (server, port):
        process = _in_its_second_round(command, port)
        # It stands still until the server listens again, however long that takes.
        process.send_signal(signal.SIGSTOP)
        server.kill()
        server.wait()
        try:
            with _server(port):
                process.send_signal(signal.SIGCONT)
                done = command.finish(process)
        finally:
            command.end()
    failures = [run["failure"] for run in done.runs]
    # The round of that time fails, unless it began after the server was killed.
    lost = [failure for failure in failures if failure is not None]
    assert (len(failures), failures[0], failures[-1]) == (ROUNDS, None, None), failures
    assert len(lost) <= 1, failures
    assert done.code == (1 if lost else 0)


@contextmanager
def _server(port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server that may be killed."""
    words = [sys.executable, "-B", "-m", "tinygram_bench", "serve", "--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline().split()[1])
        finally:
            process.kill()


def test_a_second_client_waits_and_is_told(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    first, second = (Command(folder, "stream") for folder in folders)
    with serving("--port", 0) as served:
        options = (*STREAM, "--rate", "1k", "--server", f"127.0.0.1:{served.port}")
        earlier = first.start(*options, "--duration", "60s")
        assert served.process.stderr is not None
        while "serving" not in served.process.stderr.readline():
            assert served.process.poll() is None
        later = second.start(*options, "--duration", "100ms")
        assert later.stderr is not None
        while "serves another client; waiting for our turn" not in later.stderr.readline():
            assert later.poll() is None
        earlier.send_signal(signal.SIGINT)
        ended = [first.finish(earlier), second.finish(later)]
    assert [done.code for done in ended] == [130, 0], [done.stderr for done in ended]


def test_another_programs_server_is_told_from_ours(tmp_path: Path) -> None:
    with serving("rr") as served:
        done = Command(tmp_path, "rr").run(
            *("--rounds", 1, "--callers", "1x1", "--duration", "100ms", "--runtime", "native"),
            *("--server", f"127.0.0.1:{served.port}"),
        )
        refused = Command(_folder(tmp_path), "stream").run(
            *STREAM, "--server", f"127.0.0.1:{served.port}"
        )
    assert done.code == 0, done.stderr
    assert {case["link"] for case in done.result["plan"]["cases"]} == {"loopback"}
    assert refused.code == 2
    assert "another program listens there" in refused.stderr


def _folder(parent: Path) -> Path:
    folder = parent / "other"
    folder.mkdir()
    return folder
