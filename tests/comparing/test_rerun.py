"""`tinygram rerun`: the same plan again, what differs first, and what changed at the end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.command import Command
from tests.support.compared import compared_result

from tinygram_bench.model import store
from tinygram_bench.model.result import CrossCheck, Result

RESULT = compared_result({"nodelay": [1e5] * 8})


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
        (replace(RESULT, plan=replace(RESULT.plan, cases=())), "its plan has no case"),
    ],
    ids=["study", "peers", "empty"],
)
def test_what_its_file_does_not_say_is_not_guessed(
    tmp_path: Path, result: Result, fault: str
) -> None:
    store.save(result, tmp_path / "before.json")
    done = Command(tmp_path, "rerun").run("before.json")
    assert (done.code, done.stdout, done.result) == (2, "", None)
    assert fault in done.stderr


def test_the_file_itself_is_never_replaced(tmp_path: Path) -> None:
    command = Command(tmp_path, "rerun")
    store.save(RESULT, command.result_path)
    shutil.copy(command.result_path, tmp_path / "copy.json")
    done = command.run(command.result_path.name)
    assert done.code == 2
    assert "is the result to compare with: name another file" in done.stderr
    assert command.result_path.read_bytes() == (tmp_path / "copy.json").read_bytes()
