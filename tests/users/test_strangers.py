"""Other programs may reach our servers first: they are turned away, and our clients are measured.

On the host's network, as users without root measure. A port scanner, a health check or another test
does what these strangers do: one says nothing and stays, one asks for something else.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Command
from tests.support.waiting import LONGEST_S, wait_until
from tests.users.ordinary import started_by, words_of

from tinygram_bench import _native
from tinygram_bench.host.probes.owners import sockets_of

ATTEMPTS = 20
SERVERS = ("tg-receiver", "tg-server")
RR = ("--callers", "1x2", "--calls", 5, "--sends-per-request", 1, "--strategy", "nodelay")
ECHO = ("--messages", 200, "--size", 100)
VISITED: dict[str, tuple[str, tuple[object, ...]]] = {
    "stream": ("stream", ("--messages", 2_000, "--only", "loop/stdlib/nodelay")),
    "stream of a child": ("stream", ("--messages", 2_000, "--only", "processes/stdlib/nodelay")),
    "sizes": ("sizes", ("--sizes", 100, "--round-trips", 1, "--samples", 100, "--no-local")),
    "rr with a connection per request": (
        *("rr",),
        (*RR, "--connections", "per-request", "--runtime", "native", "--server-runtime", "native"),
    ),
    "rr with Python's callers": (
        *("rr",),
        (*RR, "--connections", "per-caller", "--runtime", "threads", "--server-runtime", "asyncio"),
    ),
    "rr with callers that share": (
        *("rr",),
        (*RR, "--connections", "shared", "--runtime", "asyncio", "--server-runtime", "uvloop"),
    ),
    **{
        f"echo by {server}": ("echo", (*ECHO, "--only", server))
        for server in (
            *("runtime=native", "runtime=threads,implementation=stdlib,server=recv"),
            *("runtime=asyncio,implementation=stdlib,server=protocol,strategy=nodelay",),
            *("runtime=asyncio,implementation=stdlib,server=buffered-protocol",),
            *("runtime=asyncio,implementation=stdlib,server=streams",),
            *("runtime=asyncio,implementation=stdlib,server=sock",),
            *("runtime=uvloop,implementation=stdlib,server=protocol",),
        )
    },
}


@pytest.fixture
def visited(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[Command, Any]]:
    """A command of an ordinary user, and its arguments."""
    subcommand, arguments = VISITED[request.param]
    kept = folder / "kept"
    kept.mkdir()
    command = started_by(words_of("ordinary", kept), folder, subcommand)
    yield command, arguments
    command.end()


def listeners_of(pid: int) -> list[int]:
    """The ports on which a process listens."""
    try:
        own = list(sockets_of(pid))
        found = _native.proc_sockets(f"/proc/{pid}/net", None, own)[1]
    except OSError:
        return []
    return [int(each["local"].rpartition(":")[2]) for each in found]


def ports_of(command: Command) -> list[int]:
    """The ports on which the bench's receiver or server listens."""
    pids = [pid for pid, name in command.processes().items() if name in SERVERS]
    return [port for pid in pids for port in listeners_of(pid)]


def _listens_or_ended(command: Command, process: subprocess.Popen[str]) -> bool:
    """Whether it listens, or has ended: seen too late, it has served its client already."""
    return bool(ports_of(command)) or process.poll() is not None


def started_without_its_client(
    command: Command, arguments: tuple[object, ...]
) -> tuple[subprocess.Popen[str], list[int]]:
    """The command, whose server listens, and its processes that were stopped: all but the server.

    None of them is a client that has begun. A test that has no core for a while comes too late for
    that, and lets the command begin anew.
    """
    for _ in range(ATTEMPTS):
        process = command.start(*arguments, "--rounds", 1)
        is_there = partial(_listens_or_ended, command, process)
        wait_until(is_there, LONGEST_S, "it listens, or has ended")
        process.send_signal(signal.SIGSTOP)
        others = [pid for pid, name in command.processes().items() if name not in SERVERS]
        for pid in others:
            signal_to(pid, signal.SIGSTOP)
        names = [name for pid, name in command.processes().items() if pid in others]
        if ports_of(command) and not any(name.startswith("tg-") for name in names):
            return process, others
        for pid in others:
            signal_to(pid, signal.SIGCONT)
        command.finish(process)
    raise AssertionError(f"its client had begun in all {ATTEMPTS} attempts")


def signal_to(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


@pytest.mark.parametrize("visited", VISITED, indirect=True)
def test_strangers_are_turned_away_counted_and_told(
    visited: tuple[Command, tuple[object, ...]],
) -> None:
    command, arguments = visited
    process, stopped = started_without_its_client(command, arguments)
    with ExitStack() as stack:
        (port,) = ports_of(command)
        strangers = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in "12"
        ]
        with suppress(ConnectionError):  # It may have been turned away by now.
            strangers[1].sendall(b"GET / HTTP/1.0\r\n\r\n")
        for pid in stopped:
            signal_to(pid, signal.SIGCONT)
        for stranger in strangers:
            stranger.settimeout(LONGEST_S)
            # What was sent and not read makes the end a reset.
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        done = command.finish(process)
    assert done.code == 0, (done.stderr, [run["failure"] for run in done.runs])
    assert done.result["environment"]["network"] == "host"
    counters = done.counters_of()
    assert counters["strangers"] == 2
    assert "connections of other programs, which were turned away: 2" in done.stdout
    assert "strangers" in [warning["code"] for warning in done.runs[0]["warnings"]]
    for run in done.runs[1:]:
        assert run["counters"].get("strangers", 0) == 0
        assert "strangers" not in [warning["code"] for warning in run["warnings"]]
