"""However a measurement of `sizes` ends, finished runs are kept and nothing is left behind."""

from __future__ import annotations

import os
import signal

import pytest
from tests.stream.command import Command

ONE_CELL = ("--sizes", 1, "--round-trips", 1, "--no-local", "--pin", "none")
LONG = (*ONE_CELL, "--samples", 1_000_000, "--rounds", 1)


def test_no_process_outlives_a_killed_bench(command: Command) -> None:
    process = command.start(*LONG)
    command.wait_process("tg-client")
    assert "tg-server" in command.processes().values()
    process.kill()
    command.wait_gone(5.0)
    assert not command.result_path.exists()


def test_ctrl_c_keeps_the_finished_runs(command: Command) -> None:
    process = command.start(*ONE_CELL, "--samples", 100, "--rounds", 10_000)
    first = command.wait_process("tg-server")
    command.wait_process("tg-server", besides=frozenset({first}))
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert done.code == 130
    assert done.runs
    assert all(run["failure"] is None for run in done.runs)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("role", ["server", "client"])
def test_a_process_that_is_killed_fails_its_run_by_name(command: Command, role: str) -> None:
    process = command.start(*LONG)
    command.wait_process("tg-client")
    os.kill(command.wait_process(f"tg-{role}"), signal.SIGKILL)
    done = command.finish(process)
    assert done.code == 1
    assert f"the {role} was killed by SIGKILL" in done.runs[0]["failure"]
