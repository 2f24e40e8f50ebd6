"""Where uvloop is not installed its rows say so, and the others run."""

from __future__ import annotations

from tests.support.command import Command, Done
from tests.support.processes import search_path


def without_uvloop(command: Command, *arguments: object) -> Done:
    """Run it where `import uvloop` finds nothing."""
    folder = command.folder / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['uvloop'] = None\n")
    return command.run(*arguments, environment={"PYTHONPATH": f"{folder}:{search_path()}"})


def test_without_uvloop_its_row_says_so_and_the_others_run(command: Command) -> None:
    done = without_uvloop(
        command,
        *("--only", "runtime=uvloop,runtime=loop,implementation=stdlib,strategy=nodelay"),
        *("--rounds", 1, "--messages", 1_000),
    )
    assert done.code == 0
    assert [run["case_id"].split("/")[1] for run in done.runs] == ["loop"]
    [unavailable] = done.result["plan"]["unavailable"]
    assert unavailable["case"]["runtime"] == "uvloop"
    assert unavailable["reason"] == "uvloop is not installed: pip install 'tinygram[uvloop]'"
    row = next(line for line in done.stdout.splitlines() if line.startswith("uvloop/nodelay"))
    assert "unavailable" in row
    assert f"uvloop/nodelay: unavailable: {unavailable['reason']}" in " ".join(done.stdout.split())


def test_without_uvloop_all_is_all_the_others(command: Command) -> None:
    done = without_uvloop(
        command,
        "--all",
        "--only",
        "implementation=stdlib,strategy=nagle",
        "--rounds",
        1,
        "--messages",
        200,
    )
    assert done.code == 0
    assert {each["case"]["runtime"] for each in done.result["plan"]["unavailable"]} == {"uvloop"}
    assert len(done.runs) == len(done.result["plan"]["cases"]) == 4
    assert all(run["failure"] is None for run in done.runs)


def test_without_uvloop_only_uvloop_is_nothing_to_run(command: Command) -> None:
    done = without_uvloop(command, "--only", "runtime=uvloop")
    assert (done.code, done.result) == (2, None)
    assert done.stderr == (
        "tinygram: error: nothing to run: uvloop is not installed: pip install 'tinygram[uvloop]'\n"
    )
