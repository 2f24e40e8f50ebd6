"""A receiver that ends, hangs or says what is not so costs its run, and never the command."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.stream.faults.receivers import in_turn, program
from tests.stream.programs.broken_receiver import REPORTS
from tests.support.command import Command, Done

from tinygram_bench.processes.workers import RunError
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.outcome import received_counters

FLAT_OUT = ("--messages", 3_000)
PACED = ("--rate", 10_000, "--duration", "150ms")
DEFAULT_TIMEOUT_S = 120.0
LOOP = ("--only", "runtime=loop,implementation=stdlib,strategy=nodelay")
NODELAY_WAYS = [runtime for runtime, strategy in runtimes.all_ways() if strategy.name == "nodelay"]
NODELAY_EVERYWHERE = (
    *("--only", "strategy=nodelay"),
    *("--only", ",".join(f"runtime={known.name}" for known in NODELAY_WAYS)),
    *("--only", ",".join(f"implementation={known.implementation}" for known in NODELAY_WAYS)),
)
EVERY_STRATEGY = (
    *("library.threads", "library.threads_lists", "by_hand.processes", "by_hand.asyncio_streams"),
    "native",
)
"""The modules each of whose strategies meets a reset here, and of the others the last one.

What it does to the strategies that are left out is told in process (test_failing_senders.py), of
`nodelay` by the loss of the receiver (below), and of `cork` on blocking sockets by the sending
process, which has it from the same code.
"""
SENDER_LOST_IT = (
    "the sender failed with status 1: "
    "(ConnectionResetError|ConnectionFailedError|BrokenPipeError"
    "|OSError: .*Transport endpoint is not connected"
    # The words of uvloop.
    "|RuntimeError: .* the handler is closed)"
)
NO_REPORT = "the receiver's report .* is not a JSON object of whole numbers"

BROKEN = {
    "die": "the receiver was killed by SIGKILL",
    "reset": SENDER_LOST_IT,
    "reset-at-once": SENDER_LOST_IT,
    "hang-up": SENDER_LOST_IT,
    "say-rubbish": "the receiver printed 'hello, world', not `listening PORT`",
    "say-no-port": "the receiver printed 'listening 70000', not `listening PORT`",
    "exit-early": "the receiver failed with status 3: no memory for my notes",
    "exit-early-content": "the receiver ended before it listened",
    "refuse": "the sender failed with status 1: ConnectionRefusedError",
    "report-nothing": NO_REPORT,
    "report-words": NO_REPORT,
    "report-bytes": NO_REPORT,
    "report-negative": "the counter receiver_cpu_ns is -1, which cannot be negative",
    "report-absurd": "the counter receiver_cpu_ns is 10{18}, and a run of .* s cannot count more",
    "notes-none": "the receiver noted 0 of the",
    "notes-cut-off": "are not a whole number of 16-byte notes",
    "notes-last-missing": r"the receiver noted \d+ of the \d+ bytes",
    "notes-too-many-bytes": r"the receiver noted \d+ of the \d+ bytes",
    "notes-bytes-backwards": r"note \d+ goes backwards",
    "notes-times-backwards": r"note \d+ goes backwards",
    "notes-in-the-future": r"the receiver noted a read \d+ ns after its notes were collected$",
    "notes-before-the-sending": r"message \d+ was received \d+ ns before it was released$",
}


def broken(how: str) -> tuple[str, str]:
    return ("--receiver-command", program("broken_receiver", how))


def check_failed(run: Any, fault: str) -> None:
    assert re.search(fault, run["failure"]), run["failure"]
    assert "Traceback" not in run["failure"]
    assert (run["counters"], run["histograms"]) == ({}, {})


def check_every_run_failed(done: Done, fault: str) -> None:
    assert done.code == 1
    assert "Traceback" not in done.stderr
    for run in done.runs:
        check_failed(run, fault)
        assert f"{run['case_id']}: " in done.stderr


@pytest.fixture(scope="module")
def broken_runs(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """One plan, whose receivers break in every way, one after the other."""
    command = Command(tmp_path_factory.mktemp("broken"))
    receivers = in_turn(command.folder, *(f"broken_receiver:{how}" for how in BROKEN))
    done = command.run(
        *LOOP, "--rounds", len(BROKEN) + 1, *FLAT_OUT, "--receiver-command", receivers
    )
    command.end()
    return done


def test_no_receiver_ends_the_command_before_its_time(broken_runs: Done) -> None:
    assert broken_runs.code == 1
    assert "Traceback" not in broken_runs.stderr
    *failed, last = broken_runs.runs
    assert len(failed) == len(BROKEN)
    assert all(run["failure"] for run in failed)
    # After all of them, the real receiver.
    assert last["failure"] is None


@pytest.mark.parametrize("how", BROKEN)
def test_the_run_fails_and_says_why(broken_runs: Done, how: str) -> None:
    run = broken_runs.runs[list(BROKEN).index(how)]
    check_failed(run, BROKEN[how])
    assert f"{run['case_id']}: {' '.join(run['failure'].split())}" in broken_runs.stderr


@pytest.mark.parametrize("name", [name for name in REPORTS if name not in ("negative", "absurd")])
def test_a_report_that_is_not_of_whole_numbers_is_refused(name: str) -> None:
    with pytest.raises(RunError, match=NO_REPORT):
        received_counters(REPORTS[name].encode(errors="surrogateescape") + b"\n")


@pytest.mark.parametrize(
    ("how", "timeout_s", "fault"),
    [
        # Long enough for a busy host to have both started.
        ("hang", 10, "the receiver and the sender did not finish within 10 s"),
        ("never-listen", 1, "the receiver did not print `listening PORT` in 1.0 s"),
    ],
)
def test_a_run_that_hangs_ends_with_its_timeout(
    command: Command, how: str, timeout_s: int, fault: str
) -> None:
    start_s = time.monotonic()
    timeout = ("--timeout", f"{timeout_s}s")
    done = command.run(*LOOP, "--rounds", 1, *FLAT_OUT, *timeout, *broken(how))
    assert timeout_s < time.monotonic() - start_s < DEFAULT_TIMEOUT_S
    check_every_run_failed(done, fault)


@pytest.mark.parametrize(
    ("how", "load"),
    [("die", FLAT_OUT), ("die", PACED), ("reset-at-once", PACED)],
)
def test_no_runtime_survives_the_loss_of_its_receiver_nor_hangs(
    command: Command, how: str, load: tuple[object, ...]
) -> None:
    done = command.run(*NODELAY_EVERYWHERE, "--rounds", 1, *load, *broken(how))
    assert len(done.runs) == len(NODELAY_WAYS)
    check_every_run_failed(done, "killed by SIGKILL" if how == "die" else SENDER_LOST_IT)
    if how == "die":
        # Most of them noticed it within their grace: who is ended after that tells nothing.
        noticed = [run for run in done.runs if re.search(SENDER_LOST_IT, run["failure"])]
        assert 2 * len(noticed) > len(NODELAY_WAYS)


def test_no_way_of_sending_takes_a_reset_for_success_nor_waits_in_vain(command: Command) -> None:
    ways = list(ways_into_a_reset())
    only = [word for way in ways for word in ("--only", way)]
    timeout = ("--timeout", "30s")
    done = command.run(*only, "--rounds", 1, *FLAT_OUT, *timeout, *broken("reset"))
    assert len(done.runs) == len(ways)
    check_every_run_failed(done, SENDER_LOST_IT)


def ways_into_a_reset() -> Iterator[str]:
    for known in runtimes.RUNTIMES:
        # But for one option of the socket `nagle` is sent as `nodelay` is.
        strategies = [text for text in known.strategies if text != "nagle"]
        for text in strategies if known.module in EVERY_STRATEGY else strategies[-1:]:
            yield f"{known.name}/{known.implementation}/{text}"


def test_a_receiver_that_cannot_be_run_fails_the_run(command: Command) -> None:
    garbage = command.folder / "garbage"
    garbage.write_bytes(bytes(range(1, 200)))
    garbage.chmod(0o755)
    done = command.run(*LOOP, "--rounds", 1, *FLAT_OUT, "--receiver-command", garbage)
    check_every_run_failed(done, "the receiver failed with status 1: cannot run .*garbage: Exec")


def test_one_death_costs_one_run_and_the_others_are_kept(command: Command) -> None:
    receivers = in_turn(command.folder, "receiver", "broken_receiver:die")
    done = command.run(
        *("--only", "loop/nodelay", "--only", "native/nodelay", "--rounds", 2, *FLAT_OUT),
        *("--receiver-command", receivers),
    )
    assert done.code == 1
    assert len(done.runs) == 2 * 2
    check_failed(done.runs[1], "killed by SIGKILL")
    # The next round has another run of the same way.
    for index in (0, 2, 3):
        counters = done.counters_of(index)
        assert counters["bytes"] == counters["written_bytes"]
