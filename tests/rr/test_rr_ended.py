"""However a measurement of `rr` ends, finished runs are kept and nothing is left behind."""

from __future__ import annotations

import os
import signal

import pytest
from tests.stream.command import Command

LONG = ("--duration", "20s", "--callers", "2x2", "--sends-per-request", 1)


@pytest.mark.parametrize("runtime", ["threads", "asyncio", "native"])
def test_no_process_outlives_a_killed_bench(command: Command, runtime: str) -> None:
    process = command.start("--rounds", 1, "--runtime", runtime, *LONG)
    command.wait_process("tg-callers")
    assert "tg-server" in command.processes().values()
    process.kill()
    command.wait_gone(2.0)
    assert not command.result_path.exists()


def test_ctrl_c_keeps_the_finished_runs(command: Command) -> None:
    short = ("--calls", 2, "--callers", "1x2", "--connections", "per-caller", "--pin", "none")
    process = command.start(*short, "--rounds", 10_000, "--sends-per-request", 1)
    first = command.wait_process("tg-server")
    command.wait_process("tg-server", besides=frozenset({first}))
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert done.code == 130
    assert done.runs
    assert all(run["failure"] is None for run in done.runs)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("name", "role"), [("tg-server", "server"), ("tg-callers", "callers 1")])
def test_a_process_that_is_killed_fails_its_run_by_name(
    command: Command, name: str, role: str
) -> None:
    process = command.start(
        *("--rounds", 1, "--duration", "20s", "--callers", "1x2", "--pin", "none"),
        *("--sends-per-request", 1, "--connections", "per-caller", "--strategy", "nodelay"),
        *("--runtime", "native"),
    )
    command.wait_process("tg-callers")
    pids = [pid for pid, found in command.processes().items() if found == name]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    done = command.finish(process)
    assert done.code == 1
    assert f"the {role} was killed by SIGKILL" in done.runs[0]["failure"]
