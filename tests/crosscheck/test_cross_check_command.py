"""`--cross-check` as its user runs it, with a peer that is there and some that may not be."""

from __future__ import annotations

import os
from pathlib import Path

from tests.crosscheck import outputs
from tests.crosscheck.fakes import prints, write_sockperf
from tests.support.command import Command

BY_MODE = f"""
import sys
outputs = {{"ping-pong": {outputs.SOCKPERF_PING_PONG!r},
           "throughput": {outputs.SOCKPERF_THROUGHPUT!r}}}
sys.stdout.write(outputs[sys.argv[1]])
"""


def with_sockperf(folder: Path, client: str = BY_MODE) -> dict[str, str]:
    """An environment in which `sockperf` is a program of ours."""
    programs = folder / "programs"
    programs.mkdir()
    write_sockperf(programs, client=client)
    return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


def test_a_stream_is_set_beside_the_same_writes(tmp_path: Path) -> None:
    command = Command(tmp_path, "stream")
    done = command.run(
        *("--cross-check", "--rounds", 2, "--messages", 2_000),
        environment=with_sockperf(tmp_path),
    )
    assert done.code == 0, done.stderr
    assert {run["case_id"].split("/")[3] for run in done.runs} == {"nagle", "nodelay", "tick"}
    found = done.result["cross_check"]
    beside = {each["peer_id"]: each["case_id"].split("/")[3] for each in found["peers"]}
    assert beside["sockperf/nagle"] == "nagle"
    assert beside["sockperf/nodelay"] == "nodelay"
    runs = [run for run in found["runs"] if run["peer_id"] == "sockperf/nodelay"]
    assert [(run["round"], run["value"]) for run in runs] == [(0, 399_950), (1, 399_950)]
    names = {each["program"] for each in found["peers"]} | {
        each["program"] for each in found["absent"]
    }
    assert names == {"sockperf", "iperf3", "nuttcp", "qperf"}
    assert "sockperf/nodelay" in done.stdout
    command.end()


def test_calls_are_set_beside_one_native_caller(tmp_path: Path) -> None:
    command = Command(tmp_path, "rr")
    done = command.run(
        *("--cross-check", "--rounds", 1, "--duration", "1s"),
        environment=with_sockperf(tmp_path),
    )
    assert done.code == 0, done.stderr
    (case,) = done.result["plan"]["cases"]
    assert (case["runtime"], case["producers"], case["message_bytes"]["max"]) == ("native", 1, 100)
    assert case["parameters"]["reply_bytes"] == 100
    runs = done.result["cross_check"]["runs"]
    assert [run["value"] for run in runs if run["peer_id"] == "sockperf/nodelay"] == [49.557]
    command.end()


def test_a_peer_that_fails_is_told_and_does_not_fail_ours(tmp_path: Path) -> None:
    command = Command(tmp_path, "stream")
    done = command.run(
        *("--cross-check", "--rounds", 1, "--messages", 2_000),
        environment=with_sockperf(tmp_path, client=prints("sockperf: Test ended\n")),
    )
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.runs] == [None] * 3
    assert "its output has no message rate" in done.stdout
    command.end()
