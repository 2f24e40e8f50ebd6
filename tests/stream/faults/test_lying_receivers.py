"""A receiver or a relay that lies about one stretch of bytes fails the run, whatever it does."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.stream.faults.receivers import in_turn
from tests.stream.programs.faults import AT_BYTE, NAMES, PART_BYTES
from tests.support.command import Command, Done

FAULTS = [name for name in NAMES if name != "nothing"]
FLAT_OUT = ("--messages", 3_000)
PACED = ("--rate", 10_000, "--duration", "100ms")
LIARS = ("faulty_receiver", "relay")


def stream(command: Command, receiver: str, *options: object) -> Done:
    return command.run(
        *("--only", "strategy=nodelay", "--only", "runtime=loop,implementation=stdlib"),
        *("--receiver-command", receiver),
        *options,
    )


def check_caught(run: Any) -> None:
    """The receiver names the first wrong byte, and where it lies."""
    found = re.search(
        r"the receiver failed with status 1: .*byte (\d+) of the stream is not the one that was",
        run["failure"],
    )
    assert found, run["failure"]
    assert AT_BYTE <= int(found[1]) < AT_BYTE + 3 * PART_BYTES
    # Nothing measured is left of a run that lied.
    assert (run["counters"], run["histograms"]) == ({}, {})


@pytest.mark.parametrize(
    ("faults", "load"), [(FAULTS, FLAT_OUT), (["drop-and-duplicate", "alter"], PACED)]
)
@pytest.mark.parametrize("liar", LIARS)
def test_every_fault_fails_its_run_and_the_wrong_byte_is_named(
    command: Command, liar: str, faults: list[str], load: tuple[object, ...]
) -> None:
    turns = [f"{liar}:{fault}" for fault in faults]
    done = stream(command, in_turn(command.folder, *turns), "--rounds", len(faults), *load)
    assert done.code == 1
    assert len(done.runs) == len(faults)
    for run in done.runs:
        check_caught(run)
    assert done.stderr.count(f"{done.runs[0]['case_id']}: the receiver failed") == len(faults)
    assert "Traceback" not in done.stderr
    [summary] = done.result["summaries"]
    assert summary["failed_rounds"] == len(faults)
    assert set(summary["figures"].values()) <= {None}


@pytest.mark.parametrize("load", [FLAT_OUT, PACED])
def test_the_control_without_a_fault_passes(command: Command, load: tuple[object, ...]) -> None:
    receivers = in_turn(command.folder, *(f"{liar}:nothing" for liar in LIARS))
    done = stream(command, receivers, "--rounds", len(LIARS), *load)
    assert done.code == 0
    assert len(done.runs) == len(LIARS)
    for index in range(len(LIARS)):
        counters = done.counters_of(index)
        assert counters["bytes"] == counters["written_bytes"]


def test_one_lie_costs_one_run_and_the_others_are_kept(command: Command) -> None:
    receivers = in_turn(command.folder, "receiver", "faulty_receiver:alter")
    only = ("--only", "runtime=threads,implementation=stdlib")
    done = stream(command, receivers, "--rounds", 3, *only, *FLAT_OUT)
    assert done.code == 1
    assert len(done.runs) == 6
    for index, run in enumerate(done.runs):
        if index == 1:
            check_caught(run)
            assert run["case_id"] in done.stderr
        else:
            counters = done.counters_of(index)
            assert counters["written_bytes"] == counters["bytes"]
    summaries = done.result["summaries"]
    assert sum(each["failed_rounds"] for each in summaries) == 1
    assert all(each["figures"]["throughput_per_s"] for each in summaries)
