"""A receiver or a relay that lies about one stretch of bytes fails the run, whatever it does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.stream.command import Command, Done, program
from tests.stream.programs.faults import AT_BYTE, NAMES, PART_BYTES

FAULTS = [name for name in NAMES if name != "nothing"]
FLAT_OUT = ("--messages", 3_000)
PACED = ("--rate", 10_000, "--duration", "100ms")
LIARS = ("faulty_receiver", "relay")


def stream(command: Command, program: str, *options: object) -> Done:
    return command.run(
        *("--only", "strategy=nodelay", "--only", "runtime=loop"),
        *("--rounds", 1, "--receiver-command", program),
        *options,
    )


def check_caught(failure: str) -> None:
    """The receiver names the first wrong byte, and where it lies."""
    found = re.search(
        r"the receiver failed with status 1: .*byte (\d+) of the stream is not the one that was",
        failure,
    )
    assert found, failure
    assert AT_BYTE <= int(found[1]) < AT_BYTE + 3 * PART_BYTES


@pytest.mark.parametrize(
    ("fault", "load"), [*((fault, FLAT_OUT) for fault in FAULTS), ("drop-and-duplicate", PACED)]
)
@pytest.mark.parametrize("liar", LIARS)
def test_the_fault_fails_the_run_and_the_wrong_byte_is_named(
    command: Command, liar: str, fault: str, load: tuple[object, ...]
) -> None:
    done = stream(command, program(liar, fault), *load)
    assert done.code == 1
    [run] = done.runs
    check_caught(run["failure"])
    # Nothing measured is left of a run that lied.
    assert (run["counters"], run["histograms"]) == ({}, {})
    assert f"{run['case_id']}: the receiver failed" in done.stderr
    assert "Traceback" not in done.stderr
    [summary] = done.result["summaries"]
    assert summary["failed_rounds"] == 1
    assert set(summary["figures"].values()) <= {None}


@pytest.mark.parametrize("load", [FLAT_OUT, PACED])
@pytest.mark.parametrize("liar", LIARS)
def test_the_control_without_a_fault_passes(
    command: Command, liar: str, load: tuple[object, ...]
) -> None:
    done = stream(command, program(liar, "nothing"), *load)
    assert done.code == 0
    counters = done.counters_of()
    assert counters["bytes"] == counters["written_bytes"]


def test_one_lie_costs_one_run_and_the_others_are_kept(command: Command, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.mkdir()
    faulty = shlex.split(program("faulty_receiver", "alter"))[1:]
    done = stream(
        command,
        program("turns", starts, 2, *faulty),
        *("--rounds", 3, "--only", "runtime=threads", "--messages", 3_000),
    )
    assert done.code == 1
    assert len(done.runs) == 6
    failed = [run for run in done.runs if run["failure"]]
    assert failed == [done.runs[1]]
    check_caught(failed[0]["failure"])
    assert failed[0]["case_id"] in done.stderr
    for run in done.runs:
        if run not in failed:
            assert run["counters"]["written_bytes"] == run["counters"]["bytes"]
    summaries = {each["case"]["case_id"]: each for each in done.result["summaries"]}
    assert sum(each["failed_rounds"] for each in summaries.values()) == 1
    assert all(each["figures"]["throughput_per_s"] for each in summaries.values())
