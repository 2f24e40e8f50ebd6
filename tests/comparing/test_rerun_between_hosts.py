"""`tinygram rerun` of a result between two hosts: on the same far host again, or on another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.command import Command, Done, Refused
from tests.support.compared import compared_result
from tests.support.serve_command import serving

from tinygram_bench.cli.commands.rerun import was_awake
from tinygram_bench.model import store
from tinygram_bench.model.result import Result

RATES = {way: [1e5] * 8 for way in ("nodelay", "nagle")}
LOADS = {
    "stream": (
        *("--only", "loop/nodelay", "--only", "loop/nagle", "--rounds", "1"),
        *("--rate", "1k", "--duration", "200ms"),
    ),
    "echo": ("--rounds", "1", "--only", "threads/recv", "--size", "1000", "--duration", "300ms"),
}


def between_hosts(**far: Any) -> Result:
    """A result of two hosts, which were never asked for anything here."""
    result = compared_result(RATES)
    cases = tuple(
        replace(case, case_id=case.case_id.replace("loopback", "remote"), link="remote")
        for case in result.plan.cases
    )
    plan = replace(result.plan, cases=cases)
    environment = result.environment | {"far": far}
    return replace(result, plan=plan, runs=(), summaries=(), verdicts=(), environment=environment)


def first_result(folder: Path, server: str, workload: str = "stream") -> Path:
    (folder / "first").mkdir()
    first = Command(folder / "first", workload)
    done = first.run(*LOADS[workload], "--server", server)
    assert done.code == 0, done.stderr
    return first.result_path


@pytest.mark.parametrize("workload", LOADS)
def test_the_plan_is_measured_again_on_the_far_host_of_the_result(
    tmp_path: Path, server: str, workload: str
) -> None:
    earlier = json.loads(first_result(tmp_path, server, workload).read_text())
    assert earlier["environment"]["far"]["port"] == int(server.rpartition(":")[2])
    earlier["environment"]["uvloop"] = "0.1"
    earlier["environment"]["far"]["kernel"] = "5.0"
    before = tmp_path / "before.json"
    before.write_text(json.dumps(earlier))
    again = Command(tmp_path, "rerun").run(before)
    assert again.code == 0, again.stderr
    assert again.result["plan"] == earlier["plan"]
    assert [run["failure"] for run in again.runs] == [None] * len(earlier["plan"]["cases"])
    told = differences_of(again)
    assert any("- uvloop: 0.1 before, " in line for line in told)
    assert any("- not comparable: far host's kernel: 5.0 before, " in line for line in told)
    assert f"Since {before} ({earlier['started_at']})" in again.stdout


def differences_of(done: Done) -> list[str]:
    """The lines before what was measured, which is told last."""
    first, *lines = done.stdout.partition("The answer")[0].splitlines()
    assert first == "What differs from when it was measured"
    return lines


def test_another_far_host_may_be_named_and_is_told_first(tmp_path: Path, server: str) -> None:
    before = first_result(tmp_path, server)
    with serving("--port", 0, "--bind", "::1") as other:
        again = Command(tmp_path, "rerun").run(before, "--server", f"[::1]:{other.port}")
    assert again.code == 0, again.stderr
    far = again.result["environment"]["far"]
    assert (far["host"], far["port"]) == ("::1", other.port)
    assert "- not comparable: far host: 127.0.0.1 before, ::1 after" in differences_of(again)


def test_what_rerun_has_measured_is_measured_again(tmp_path: Path, server: str) -> None:
    before = first_result(tmp_path, server)
    (tmp_path / "second").mkdir()
    second = Command(tmp_path / "second", "rerun")
    assert second.run(before, "--quiet").code == 0
    third = Command(tmp_path, "rerun").run(second.result_path, "--quiet")
    assert (third.code, third.stdout) == (0, "")
    assert third.result["plan"] == json.loads(before.read_text())["plan"]


def test_a_server_that_is_gone_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(between_hosts(host="127.0.0.1", port=1), tmp_path / "before.json")
    said = ("--server 127.0.0.1:1: connecting to 127.0.0.1 port 1 failed", "`tinygram serve")
    refused(("rerun", "before.json"), said)
    assert list(tmp_path.iterdir()) == [tmp_path / "before.json"]


@pytest.mark.parametrize("far", [{}, {"host": "<anonymous>"}, {"host": 5}])
def test_a_result_that_does_not_say_where_it_was_measured_needs_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused, far: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(between_hosts(**far), tmp_path / "before.json")
    said = ("before.json was measured between two hosts", "--server HOST")
    refused(("rerun", "before.json"), said)


def test_an_older_result_names_no_port_and_the_usual_one_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(between_hosts(host="192.0.2.7.invalid"), tmp_path / "before.json")
    refused(("rerun", "before.json"), ("--server '192.0.2.7.invalid:5201' has no address here",))


def test_a_result_of_one_host_takes_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(compared_result(RATES), tmp_path / "before.json")
    said = ("--server 127.0.0.1", "between two hosts, and before.json was not", "leave it out")
    refused(("rerun", "before.json", "--server", "127.0.0.1"), said)


def test_cores_of_this_host_are_kept_awake_where_they_were() -> None:
    result = between_hosts(host="192.0.2.7")
    environment = result.environment | {"cpu_latency_limit_us": 0}
    assert was_awake(replace(result, environment=environment))
    assert not was_awake(result)
