"""Ctrl-C ends both sides, and after a kill nothing is left: of our server, or another program."""

from __future__ import annotations

import shlex
import signal
import sys

import pytest
from tests.stream.command import Command

PORT = 9108
SILENT = shlex.join([sys.executable, "-m", "tests.echo.programs.echo", str(PORT), "silent"])
LOADS: dict[str, tuple[object, ...]] = {
    "ours": ("--only", "runtime=native", "--duration", "30s"),
    "another": (
        *("--server-command", SILENT, "--port", PORT),
        *("--only", "runtime=external", "--timeout", "30s"),
    ),
}


@pytest.mark.parametrize("whose", LOADS)
def test_a_killed_bench_leaves_no_process_behind(command: Command, whose: str) -> None:
    process = command.start(*LOADS[whose], "--size", 100, "--rounds", 1)
    command.wait_process("tg-client")
    process.kill()
    assert command.finish(process).result is None


@pytest.mark.parametrize("whose", LOADS)
def test_ctrl_c_ends_both_sides(command: Command, whose: str) -> None:
    process = command.start(*LOADS[whose], "--size", 100, "--rounds", 1)
    command.wait_process("tg-client")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert (done.code, done.runs) == (130, [])
    assert "Traceback" not in done.stderr
