"""However a measurement ends, finished runs are kept and nothing is left behind.

Of `stream`: stream/test_interrupted.py and test_nothing_left.py.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys

import pytest
from tests.support.command import Command

PORT = 9108
SILENT = shlex.join(
    [sys.executable, "-m", "tests.support.programs.echo_server", str(PORT), "silent"]
)
PARENT_OF_SILENT = shlex.join(["sh", "-c", f"{SILENT} & wait"])
CALLS = (
    *("--callers", "1x2", "--pin", "none", "--sends-per-request", 1, "--strategy", "nodelay"),
    *("--connections", "per-caller"),
)
CELL = ("--sizes", 1, "--round-trips", 1, "--no-local", "--pin", "none")
LONG: dict[str, tuple[str, tuple[object, ...]]] = {
    "rr native": ("tg-callers", (*CALLS, "--duration", "60s", "--runtime", "native")),
    "sizes": ("tg-client", (*CELL, "--samples", 1_000_000)),
    "echo ours": ("tg-client", ("--only", "runtime=native", "--duration", "60s", "--size", 100)),
    "echo another": (
        "tg-client",
        (
            *("--server-command", SILENT, "--port", PORT, "--size", 100),
            *("--only", "runtime=external", "--timeout", "100s"),
        ),
    ),
    "echo another's child": (
        "tg-client",
        (
            *("--server-command", PARENT_OF_SILENT, "--port", PORT, "--size", 100),
            *("--only", "runtime=external", "--timeout", "100s"),
        ),
    ),
}
"""What is measured: the process that is started last, and how."""


def measuring(*whats: str) -> pytest.MarkDecorator:
    """Gives a test the command, its last process and the arguments of one long run."""
    long = {what: LONG[what] for what in whats}
    values = [
        (what.split()[0], last, (*arguments, "--rounds", 1))
        for what, (last, arguments) in long.items()
    ]
    return pytest.mark.parametrize(
        ("command", "last", "arguments"), values, ids=list(long), indirect=["command"]
    )


# Every process of ours dies with the bench by one wish, whatever it does (orders.py).
@measuring("rr native", "sizes", "echo another", "echo another's child")
def test_no_process_outlives_a_killed_bench(
    command: Command, last: str, arguments: tuple[object, ...]
) -> None:
    process = command.start(*arguments)
    command.wait_process(last)
    assert len(command.processes()) > 2
    process.kill()
    command.wait_gone()
    assert not command.result_path.exists()


@measuring("echo ours", "echo another")
def test_ctrl_c_ends_both_sides(command: Command, last: str, arguments: tuple[object, ...]) -> None:
    process = command.start(*arguments)
    command.wait_process(last)
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert (done.code, done.result) == (130, None)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "arguments"),
    [("rr", (*CALLS, "--calls", 2)), ("sizes", (*CELL, "--samples", 100))],
    indirect=["command"],
)
def test_ctrl_c_keeps_the_finished_runs(command: Command, arguments: tuple[object, ...]) -> None:
    process = command.start(*arguments, "--rounds", 10_000)
    first = command.wait_process("tg-server")
    command.wait_process("tg-server", besides=frozenset({first}))
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert done.code == 130
    assert done.runs
    assert all(run["failure"] is None for run in done.runs)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("is_last", [False, True])
@measuring("rr native", "sizes")
def test_a_process_that_is_killed_fails_its_run_by_name(
    command: Command, last: str, arguments: tuple[object, ...], is_last: bool
) -> None:
    process = command.start(*arguments)
    pid = command.wait_process(last)
    killed = last if is_last else "tg-server"
    os.kill(pid if is_last else command.wait_process(killed), signal.SIGKILL)
    done = command.finish(process)
    assert done.code == 1
    role = {"tg-callers": "callers 1"}.get(killed, killed.removeprefix("tg-"))
    assert f"the {role} was killed by SIGKILL" in done.runs[0]["failure"]
