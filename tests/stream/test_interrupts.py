"""However a measurement is ended, what is finished is kept and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.stream.command import Command, program, wait_until

RUN = ("--rate", 1_000, "--duration", "800ms", "--timeout", "20s")
PLAN = ("--only", "runtime=loop", "--rounds", 3, *RUN)


def reach_third_run(command: Command, process: subprocess.Popen[str]) -> None:
    """Wait until two runs are finished and both sides of the third are at work."""
    known: set[int] = set()
    for _ in range(3):
        assert process.poll() is None
        receiver = command.wait_process("tg-receiver", besides=frozenset(known))
        sender = command.wait_process("tg-sender", besides=frozenset(known))
        known |= {receiver, sender}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_finished_runs_are_saved_and_reported_with_exit_130(
    command: Command, number: signal.Signals
) -> None:
    process = command.start(*PLAN)
    reach_third_run(command, process)
    process.send_signal(number)
    sent_s = time.monotonic()
    done = command.finish(process)
    assert time.monotonic() - sent_s < 5.0
    assert done.code == 130
    assert len(done.runs) == 2
    assert [run["failure"] for run in done.runs] == [None, None]
    assert len(done.result["plan"]["cases"]) == 3
    assert done.result["plan"]["rounds"] == 3
    assert "stopped after 2 of 9 runs" in " ".join(done.stdout.split())
    assert f"Saved: {command.result_path}" in done.stdout
    assert done.stderr.endswith("tinygram: interrupted; the finished runs are saved\n")
    assert "Traceback" not in done.stderr


def test_an_impatient_user_does_not_lose_what_is_finished(command: Command) -> None:
    process = command.start(*PLAN)
    reach_third_run(command, process)
    while not command.result_path.exists():
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        time.sleep(0.005)
    done = command.finish(process)
    assert done.code == 130
    assert len(done.runs) == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("runtime", ["threads", "asyncio", "processes", "native"])
def test_before_the_first_run_is_finished_nothing_is_claimed(
    command: Command, runtime: str
) -> None:
    process = command.start("--only", f"runtime={runtime},strategy=nodelay", *RUN)
    command.wait_process("tg-sender")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert done.code == 130
    assert done.runs == []
    assert "Traceback" not in done.stderr


def test_while_it_waits_for_a_receiver_that_never_listens(command: Command) -> None:
    process = command.start(*PLAN, "--receiver-command", program("broken_receiver", "never-listen"))
    wait_until(lambda: len(command.processes()) > 1, 10.0, "the receiver is started")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert (done.code, done.runs) == (130, [])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--only", "runtime=loop,strategy=nodelay"),
        ("--only", "runtime=processes,strategy=nodelay"),
        ("--only", "runtime=uvloop", "--receiver-command", program("relay", "nothing")),
        ("--only", "runtime=threads", "--receiver-command", program("broken_receiver", "hang")),
    ],
    ids=["loop", "processes", "relay", "hanging-receiver"],
)
def test_a_killed_bench_takes_everything_along_within_two_seconds(
    command: Command, options: tuple[str, ...]
) -> None:
    process = command.start(*options, *RUN)
    command.wait_process("tg-sender")
    if "runtime=processes,strategy=nodelay" in options:
        wait_until(
            lambda: list(command.processes().values()).count("tg-sender") == 2,
            10.0,
            "the sending process is forked",
        )
    namespaces = namespaces_of(command.processes())
    process.kill()
    process.wait()
    command.wait_gone(2.0)
    wait_until(
        lambda: not namespaces & namespaces_of(every_process()),
        2.0,
        "no process is left in the run's network namespace",
    )
    assert not command.result_path.exists()
    assert not any(f"net:[{inode}]" in Path("/proc/mounts").read_text() for inode in namespaces)


def every_process() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def namespaces_of(pids: list[int] | dict[int, str]) -> set[int]:
    """The network namespaces of these processes, but for our own (inode numbers)."""
    found = set()
    for pid in pids:
        try:
            found.add(os.stat(f"/proc/{pid}/ns/net").st_ino)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # It has ended, or is another user's.
    return found - {os.stat("/proc/self/ns/net").st_ino}


def test_a_run_has_a_network_of_its_own_that_goes_with_it(command: Command) -> None:
    process = command.start("--only", "runtime=loop,strategy=nodelay", "--rounds", 1, *RUN)
    sender = command.wait_process("tg-sender")
    receiver = command.wait_process("tg-receiver")
    both = namespaces_of([sender]) | namespaces_of([receiver])
    done = command.finish(process)
    assert done.code == 0
    if done.result["environment"]["network"] == "host":
        pytest.skip("no network namespace may be made here")
    assert len(both) == 1
    assert not both & namespaces_of(every_process())
