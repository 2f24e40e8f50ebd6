"""Plans in Python are those of the command line, and refuse what that refuses, in its words."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tinygram_bench import Plan, run
from tinygram_bench.cli.app import app
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError

RATE = ("--rate", "2k", "--runtime", "loop")
COMMANDS: Any = get_command(app)


def asked_by(*words: str) -> Asked:
    """What the command line asks for, without measuring it."""
    command = COMMANDS.commands[words[0]]
    context = command.make_context(words[0], [*words[1:], "--json", "-"])
    asked = context.invoke(command.callback, **context.params)
    assert isinstance(asked, Asked)
    return asked


def test_a_plan_is_that_of_the_command_line() -> None:
    told = asked_by(
        *["stream", "--rate", "2k", "--runtime", "loop", "--rounds", "8", "--duration", "500ms"]
    )
    plan = Plan.stream(rate=[2_000], runtime=["loop"], rounds=8, duration=500_000_000)
    assert plan.cases == told.plan.cases
    assert (plan.rounds, plan.unavailable) == (8, told.plan.unavailable)


@pytest.mark.parametrize("workload", ["stream", "rr", "echo", "sizes", "fanout"])
def test_every_workload_has_the_command_s_defaults(workload: str) -> None:
    assert getattr(Plan, workload)().cases == asked_by(workload).plan.cases
    options = set(inspect.signature(getattr(Plan, workload)).parameters)
    assert options == {each.name for each in COMMANDS.commands[workload].params} - {"help"}


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"rounds": 0}, "--rounds 0 is outside 1 … 10000"),
        ({"strategy": ["fast"]}, "unknown strategy 'fast'"),
        ({"arrival": "poisson"}, "--arrival needs a schedule"),
        ({"json": Path("none/a.json")}, "cannot write none/a.json"),
    ],
)
def test_bad_options_are_refused_as_by_the_command(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError) as refused:
        Plan.stream(**options)
    assert fault in str(refused.value)


def test_what_measures_nothing_is_no_plan() -> None:
    with pytest.raises(UsageError, match="measures nothing"):
        Plan.rr(list_scenarios=True)


def test_a_result_is_returned_and_saved(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    plan = Plan.stream(
        runtime=["native"],
        strategy=["nodelay"],
        messages=1_000,
        rounds=1,
        quiet=True,
        json=file,
    )
    result = run(plan)
    (made,) = result.stored.runs
    assert made.failure is None
    assert made.counters["messages"] == 1_000
    assert store.load(file) == result.stored
    assert result.stored.command[0] != "tinygram"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


def test_a_plan_is_run_once_and_may_be_anonymous() -> None:
    plan = Plan.stream(
        runtime=["native"],
        strategy=["nodelay"],
        messages=1_000,
        rounds=1,
        quiet=True,
        anonymous=True,
    )
    result = run(plan)
    assert len(result.stored.runs) == 1
    assert result.stored.host is None
    with pytest.raises(UsageError, match="has been run: make another one with the same options"):
        run(plan)


def test_a_process_that_imports_the_bench_alone_imports_none_of_this() -> None:
    program = "import sys, tinygram_bench; print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
