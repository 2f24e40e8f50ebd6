"""`--bidirectional`: each way sends from both ends at the same time; figures are apart."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.command import Command, Done, Refused, run_once
from tests.support.plans.stream import planned

from tinygram_bench.model.parameters import Direction
from tinygram_bench.statistics.workloads.loads import Load, load_name, turns_of
from tinygram_bench.workloads.stream.run import Stream

BOTH: Sequence[Direction] = ("forward", "reverse")
TWO = ("--only", "loop/nodelay", "--only", "asyncio/tinygram/adaptive")


def both_ways(folder: Path, *options: object) -> Done:
    return run_once(folder, "stream", "--bidirectional", "--rounds", 1, *options)


# Flat out so long that a host which stops does not take all slices of a way.
LOADS: dict[str, tuple[object, ...]] = {
    "flat out": ("--duration", "300ms", *TWO),
    "paced": ("--rate", "1k", "--duration", "100ms", *TWO),
    "of producers": ("--producers", 2, "--duration", "300ms", "--only", "threads/tinygram/combine"),
    "over TLS": ("--tls", "--rate", "1k", "--duration", "100ms", *TWO),
    "over a link": ("--link", "lan-1g", "--rate", "1k", "--duration", "100ms", *TWO),
    "from processes and natively": (
        *("--duration", "300ms", "--only", "processes/nodelay", "--only", "native/tick"),
        *("--only", "threads/nodelay"),
    ),
}


@pytest.mark.parametrize("load", LOADS)
def test_both_directions_of_each_way_are_measured_and_accounted_for(
    tmp_path: Path, load: str
) -> None:
    done = both_ways(tmp_path, *LOADS[load])
    assert done.code == 0, done.stderr
    cases = {case["case_id"]: case for case in done.result["plan"]["cases"]}
    directions: dict[str, list[str]] = {}
    for number, run in enumerate(done.runs):
        counters = done.counters_of(number)
        way, _, direction = run["case_id"].rpartition("/")
        directions.setdefault(way, []).append(direction)
        parameters = cases[run["case_id"]]["parameters"]
        assert parameters["bidirectional"]
        assert parameters.get("direction", "forward") == direction
        assert counters["bytes"] > counters["messages"] > 0
        assert counters["cpu_ns"] > 0
        assert counters["receiver_cpu_ns"] > 0
        if counters.get("tls_records") is None:
            assert counters["written_bytes"] == counters["bytes"]
        # Nobody can tell whose segments the kernel has counted.
        assert counters["kernel_OutSegs"] is None
        assert "host_network" not in {each["code"] for each in run["warnings"]}
    assert all(sorted(found) == [*BOTH] for found in directions.values())
    if load == "flat out":
        check_report(done)
    if load == "over a link":
        check_carried(done)


def check_report(done: Done) -> None:
    """It tells the directions apart."""
    titles = [line for line in done.stdout.splitlines() if line.startswith("stream flat out")]
    assert len(titles) == 2
    assert "the near end sends, both directions at once" in titles[0]
    assert "the far end sends, both directions at once" in titles[1]


def check_carried(done: Done) -> None:
    """What a link carried is in the runs of both directions."""
    carried: dict[str, list[dict[str, int]]] = {}
    for run in done.runs:
        of_link = {k: v for k, v in run["counters"].items() if k.startswith("link_")}
        carried.setdefault(run["case_id"].rpartition("/")[0], []).append(of_link)
    for there, back in carried.values():
        assert there == back
        assert any(there.values())


def test_the_two_directions_of_a_load_take_turns_together_and_compete_apart() -> None:
    plan = planned("loop/nodelay", "loop/nagle", directions=BOTH, takes_turns=True)
    assert len({turns_of(case) for case in plan.cases}) == 1
    assert len({Load.of(case) for case in plan.cases}) == 2
    assert all(case.parameters.slice_ns is not None for case in plan.cases)
    names = {load_name(case) for case in plan.cases}
    assert names == {
        "stream flat out forward of both directions",
        "stream flat out reverse of both directions",
    }
    keys = [Stream(1).at_once(case) for case in plan.cases]
    assert sorted(keys.count(key) for key in set(keys)) == [2, 2]


def test_each_host_has_its_core_in_both_directions() -> None:
    plan = planned("loop/nodelay", placement="apart", directions=BOTH, takes_turns=True)
    there, back = (Stream(1).where(case) for case in plan.cases)
    assert there == back


def test_where_one_direction_dies_the_other_is_no_result(tmp_path: Path) -> None:
    command = Command(tmp_path, "stream")
    process = command.start(
        *("--bidirectional", "--only", "loop/nodelay", "--rounds", 1, "--rate", "1k"),
        *("--duration", "5s"),
    )
    os.kill(command.wait_process("tg-sender"), signal.SIGKILL)
    done = command.finish(process)
    assert done.code == 1
    failures = [run["failure"] for run in done.runs]
    assert all("was killed by SIGKILL" in failure for failure in failures), failures


def test_a_stored_result_is_measured_again_in_both_directions(tmp_path: Path) -> None:
    # Long enough for a host that stops either end for some slices.
    done = both_ways(tmp_path, "--duration", "300ms", "--only", "loop/nodelay")
    assert done.code == 0, done.stderr
    again = tmp_path / "again"
    again.mkdir()
    rerun = run_once(again, "rerun", tmp_path / "result.json")
    assert rerun.code == 0, rerun.stderr
    assert {run["case_id"] for run in rerun.runs} == {run["case_id"] for run in done.runs}
    stored = json.loads((tmp_path / "result.json").read_text())
    assert rerun.result["plan"]["cases"] == stored["plan"]["cases"]


REFUSED: dict[str, tuple[str, ...]] = {
    "--receiver-command": ("--receiver-command", "true"),
    "--cross-check": ("--cross-check",),
    "--probe": ("--probe", "10ms"),
    "--cluster": ("--cluster", "auto"),
    "--lone": ("--lone",),
    "--messages": ("--messages", "100"),
    "--busy-thread": ("--busy-thread",),
    "--sweep": ("--sweep", "rate=1k..2k"),
    "--reverse": ("--reverse",),
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_is_for_one_direction_is_refused_by_name(
    tmp_path: Path, refused: Refused, option: str
) -> None:
    path = tmp_path / "result.json"
    both = ("stream", "--bidirectional", "--rounds", "1", "--json", str(path))
    said = ("cannot be combined with", option, "--bidirectional")
    refused((*both, *REFUSED[option]), said)
    assert not path.exists()
