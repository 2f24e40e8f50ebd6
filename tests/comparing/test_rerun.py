"""`tinygram rerun`: the same plan again, what differs first, and what changed at the end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.command import Command, Refused
from tests.support.compared import compared_result
from tests.support.plans.stream import planned

from tinygram_bench import Plan
from tinygram_bench.cli.commands.rerun import was_awake
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.model import store
from tinygram_bench.model.cross_check import CrossCheck
from tinygram_bench.model.result import Case, Result, Unavailable
from tinygram_bench.model.sweep import Point, Sweep

RESULT = compared_result({"nodelay": [1e5] * 8})


def with_cases(cases: tuple[Case, ...]) -> Result:
    """A result whose plan has these cases, and which has no run of them."""
    plan = replace(RESULT.plan, cases=cases)
    return replace(RESULT, plan=plan, runs=(), summaries=(), verdicts=())


def test_a_plan_is_measured_again_and_compared(tmp_path: Path) -> None:
    Path(tmp_path / "first").mkdir()
    first = Command(tmp_path / "first")
    one = ("--only", "loop/nodelay", "--only", "loop/nagle")
    assert first.run(*one, "--duration", "40ms", "--rounds", "1", "--seed", "5").code == 0
    earlier = json.loads(first.result_path.read_text())
    earlier["environment"]["uvloop"] = "0.1"
    earlier["environment"]["kernel"] = "5.0"
    before = tmp_path / "before.json"
    before.write_text(json.dumps(earlier))
    kept = before.read_bytes()
    again = Command(tmp_path, "rerun").run(before)
    assert again.code == 0, again.stderr
    assert again.result["plan"] == earlier["plan"]
    assert again.result["command"][1] == "rerun"
    said = again.stdout
    assert said.startswith("What differs from when it was measured\n")
    assert "- not comparable: kernel: 5.0 before, " in said.partition("The answer")[0]
    assert "- uvloop: 0.1 before, " in said.partition("The answer")[0]
    assert f"Since {before} ({earlier['started_at']})" in said
    assert "loop/nodelay, stream flat out" in said.partition("Since ")[2]
    assert before.read_bytes() == kept


def of_nobody(case: Case) -> Case:
    return replace(case, implementation="nobody")


def test_what_cannot_run_here_and_what_could_not_before_are_told_apart(tmp_path: Path) -> None:
    ways = ("nodelay", "nagle", "cork")
    cases = [planned(f"loop/{name}", messages=100, rounds=1).cases[0] for name in ways]
    found = with_cases((cases[0], of_nobody(cases[1])))
    absent = (Unavailable(cases[2], "it had none"),)
    plan = replace(found.plan, rounds=1, unavailable=absent)
    store.save(replace(found, plan=plan), tmp_path / "before.json")
    done = Command(tmp_path, "rerun").run("before.json")
    assert done.code == 0, done.stderr
    assert [run["case_id"] for run in done.runs] == [cases[0].case_id]
    reasons = {
        each["case"]["case_id"]: each["reason"] for each in done.result["plan"]["unavailable"]
    }
    assert reasons == {
        cases[1].case_id: "no nagle on loop by nobody",
        cases[2].case_id: "it could not run where the plan was first measured: it had none",
    }


def test_a_plan_of_which_nothing_can_run_here_is_refused(tmp_path: Path, refused: Refused) -> None:
    whole = planned("loop/nodelay").cases
    store.save(with_cases(tuple(map(of_nobody, whole))), tmp_path / "before.json")
    said = ("nothing to run: no nodelay on loop by nobody",)
    refused(("rerun", str(tmp_path / "before.json")), said)


def test_a_sweep_of_which_a_case_cannot_run_here_is_refused(
    tmp_path: Path, refused: Refused
) -> None:
    cases = planned("loop/nodelay", "loop/nagle").cases
    found = with_cases((cases[0], of_nobody(cases[1])))
    point = Point(1e3, tuple(case.case_id for case in cases))
    plan = replace(found.plan, sweep=Sweep("rate", 1e3, 2e3, 1, steps=((point,),)))
    store.save(replace(found, plan=plan), tmp_path / "before.json")
    said = ("cannot be measured again here: ", "each point of a sweep has the same cases")
    refused(("rerun", str(tmp_path / "before.json")), said)


def test_each_point_of_a_sweep_is_measured_again_in_the_rounds_of_its_step(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    first = Command(tmp_path / "first")
    paced = ("--only", "loop/nodelay", "--rate", "1k", "--rate", "2k", "--duration", "20ms")
    assert first.run(*paced, "--rounds", "2").code == 0
    earlier = store.load(first.result_path)
    ids = [case.case_id for case in earlier.plan.cases]
    steps = tuple((Point(1e3 * at, (id,)),) for at, id in enumerate(ids, 1))
    plan = replace(earlier.plan, sweep=Sweep("rate", 1e3, 2e3, 1, steps=steps))
    runs = tuple(run for run in earlier.runs if run.case_id == ids[run.round])
    store.save(replace(earlier, plan=plan, runs=runs), tmp_path / "before.json")
    done = Command(tmp_path, "rerun").run("before.json")
    assert done.code == 0, done.stderr
    assert [(run["case_id"], run["round"]) for run in done.runs] == [(ids[0], 0), (ids[1], 1)]
    assert "run 2/2" in done.stderr


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (
            replace(RESULT, environment={"study": {}}, command=("tinygram", "trust", "--pin=a b")),
            "decides by itself what it runs; call its command again: tinygram trust '--pin=a b'\n",
        ),
        (
            replace(
                RESULT,
                cross_check=CrossCheck((), (), ()),
                command=("tinygram", "stream", "--cross-check"),
            ),
            "versions are their own; call its command again: tinygram stream --cross-check\n",
        ),
        (with_cases(()), "its plan has no case"),
    ],
    ids=["study", "peers", "empty"],
)
def test_what_its_file_does_not_say_is_not_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused, result: Result, fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(result, tmp_path / "before.json")
    refused(("rerun", "before.json"), (fault,))
    assert list(tmp_path.iterdir()) == [tmp_path / "before.json"]


def test_the_file_itself_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "result.json"
    store.save(RESULT, path)
    shutil.copy(path, tmp_path / "copy.json")
    said = "is the result to compare with: name another file"
    refused(("rerun", path.name, "--json", str(path)), (said,))
    assert path.read_bytes() == (tmp_path / "copy.json").read_bytes()


@pytest.mark.parametrize("name", ["a" * 300, "loop"])
def test_a_result_file_that_cannot_be_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(RESULT, tmp_path / "before.json")
    (tmp_path / "loop").symlink_to("loop")
    said = f"tinygram: error: cannot write {name}: "
    refused(("rerun", "before.json", "--json", name), (said,))


@pytest.mark.parametrize(("limit_us", "is_awake"), [(0, True), (2_000_000_000, False)])
def test_cores_are_kept_awake_where_they_were(limit_us: int, is_awake: bool) -> None:
    environment = {**RESULT.environment, "cpu_latency_limit_us": limit_us}
    earlier = replace(RESULT, environment=environment, command=("tinygram", "rerun", "a.json"))
    assert was_awake(earlier) is is_awake


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (lambda: Plan.stream(receiver_command="touch here"), "runs the program 'touch here'"),
        (lambda: Plan.echo(server_command="touch here", port=9), "runs the program 'touch here'"),
        (lambda: Plan.echo(server="10.9.8.7:80"), "sends its load to the server '10.9.8.7:80'"),
        (lambda: Plan.rr(server="10.9.8.7:80"), "sends its load to the server '10.9.8.7:80'"),
        (lambda: Plan.sizes(server="10.9.8.7:80"), "sends its load to the server '10.9.8.7:80'"),
    ],
    ids=["receiver", "echo-command", "echo-server", "rr-server", "sizes-server"],
)
def test_programs_and_servers_that_the_file_names_are_told_and_not_used_unasked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Refused,
    asked: Callable[[], Plan],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(with_cases(asked().cases), tmp_path / "before.json")
    refused(("rerun", "before.json"), (told, "add --run-commands"))
    assert not (tmp_path / "here").exists()
    assert list(tmp_path.iterdir()) == [tmp_path / "before.json"]


RECEIVER = """#!/bin/sh
[ -e here ] || { touch here; exit 1; }
until [ -s pid ]; do sleep 0.01; done
kill -INT $(cat pid)
exec sleep 1000
"""
"""It fails at first; then it ends the measurement as Ctrl-C does."""


@pytest.mark.parametrize(("rounds", "code"), [(1, ExitCode.RUN_FAILED), (2, ExitCode.INTERRUPTED)])
def test_programs_run_where_that_is_asked_for_and_what_is_finished_is_compared(
    tmp_path: Path, rounds: int, code: ExitCode
) -> None:
    (tmp_path / "first").mkdir()
    first = Command(tmp_path / "first")
    ways = ("--only", "loop/nodelay", "--only", "loop/nagle", "--lone")
    assert first.run(*ways, "--messages", "500", "--rounds", "1").code == 0
    earlier = store.load(first.result_path)
    receiver = tmp_path / "receiver"
    receiver.write_text(RECEIVER)
    receiver.chmod(0o755)
    sound, other = earlier.plan.cases
    other = replace(other, parameters=replace(other.parameters, receiver_command=str(receiver)))
    plan = replace(earlier.plan, cases=(sound, other), rounds=rounds)
    store.save(replace(earlier, plan=plan), tmp_path / "before.json")
    command = Command(tmp_path, "rerun")
    process = command.start("before.json", "--run-commands")
    (tmp_path / "pid").write_text(str(process.pid))
    done = command.finish(process)
    assert done.code == code, done.stderr
    assert [run["case_id"] for run in done.runs if run["failure"]] == [other.case_id]
    assert sound.strategy in done.stdout.partition("\nSince before.json")[2]
