"""What was asked for wrongly is said in one line, with a remedy, before anything is measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.stream.command import Command, Done, search_path

from tinygram.bench.cli import main
from tinygram.bench.cli import stream as stream_module

RATE = ("--rate", "10")
UNITS = "(ns, us, ms, s, min, h)"
STRATEGIES = (
    "nagle, nodelay, cork, more, tick, combine, adaptive, coalesce:DURATION, timer:DURATION"
)
RUNTIMES = "asyncio, loop, native, processes, threads, uvloop"

WRONG: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("--only", "strategy=nagel"), ("'nagel'", STRATEGIES)),
    (("--only", "runtime=twisted"), ("'twisted'", RUNTIMES)),
    (("--only", "implementation=rust"), ("'rust'", "aiofastnet, stdlib, stdlib-lock, tinygram")),
    (("--only", "colour=blue"), ("'colour=blue'", "runtime, implementation, strategy")),
    (("--only", "runtime"), ("'runtime'", "KEY=VALUE", "--only runtime=asyncio,strategy=nagle")),
    (("--only", ""), ("''", "KEY=VALUE")),
    (("--only", "runtime=native,strategy=cork"), ("strategy=cork", "native: nagle, nodelay, tick")),
    (("--only", "strategy=coalesce"), ("'coalesce'", "needs a duration", "coalesce:10us")),
    (("--only", "strategy=timer:"), ("'timer:'", "needs a duration", "timer:10us")),
    (("--only", "strategy=coalesce:10"), ("'10' has no unit", UNITS)),
    (("--only", "strategy=coalesce:10parsecs"), ("'parsecs'", UNITS)),
    (("--only", "strategy=coalesce:soon"), ("'soon'", UNITS)),
    (("--only", "strategy=coalesce:0us"), ("'0us'", "above 0")),
    (("--only", "strategy=nagle:10us"), ("'nagle'", "takes no duration")),
    (("--producers", "0"), ("--producers 0", "1 … 256")),
    (("--producers", "257"), ("--producers 257", "1 … 256")),
    (("--producers", "32", "--size", "4MiB"), ("--producers 32", "4MiB", "64 MiB")),
    (("--producers", "8", "--only", "runtime=loop"), ("--producers 8", "runtime=threads")),
    (("--size", "0"), ("'0'", "above 0")),
    (("--size", "-5"), ("'-5'", "64KiB")),
    (("--size", "2GiB"), ("'2GiB'", "1 B to 1 GiB")),
    (("--size", "1..2GiB"), ("'2GiB'", "1 B to 1 GiB")),
    (("--size", "500..1"), ("'500..1'", "1..500")),
    (("--size", "large"), ("'large'", "64KiB")),
    (("--rate", "0"), ("'0'", "above 0")),
    (("--rate", "-1"), ("'-1'", "messages per second")),
    (("--rate", "nan"), ("'nan'", "messages per second")),
    (("--rate", "inf"), ("'inf'", "messages per second")),
    (("--rate", "99999999M"), ("--rate", "100000000")),
    ((*RATE, "--duration", "5"), ("'5' has no unit", UNITS)),
    ((*RATE, "--duration", "0s"), ("'0s'", "above 0")),
    ((*RATE, "--messages", "5"), ("--messages", "--rate", "--duration")),
    ((*RATE, "--published"), ("--published", "--rate")),
    ((*RATE, "--burst", "0"), ("--burst 0", "1 … 1000000")),
    ((*RATE, "--arrival", "uniform"), ("'uniform'", "constant, poisson, onoff")),
    (("--duration", "2s"), ("--duration", "--rate 1000")),
    (("--arrival", "poisson"), ("--arrival", "--rate 1000")),
    (("--burst", "2"), ("--burst", "--rate 1000")),
    (("--messages", "0"), ("--messages 0", "1 … 100000000")),
    (("--messages", "many"), ("--messages", "integer")),
    (("--rounds", "0"), ("--rounds 0", "1 … 10000")),
    (("--seed", "-1"), ("--seed -1", "0 … ")),
    (("--pin", "left"), ("'left'", "apart, same, none")),
    (("--link", "lan"), ("'lan'", "loopback")),
    (("--congestion-control", "none-such"), ("'none-such'", "cubic")),
    (("--receive-buffer", "0"), ("'0'", "above 0")),
    (("--receive-buffer", "2GiB"), ("--receive-buffer", "1 … 1073741824")),
    (("--timeout", "5"), ("'5' has no unit", UNITS)),
    (("--receiver-command", "'"), ('"\'"', "No closing quotation")),
    (("--receiver-command", "./none-such"), ("'./none-such'", "PATH")),
    (("--receiver-command", ""), ("''", "PATH")),
    (("--json", "none-such/a.json"), ("none-such/a.json", "--json")),
    (("--json", "."), ("not a file", "--json a.json")),
    (("--json", "/dev/null"), ("/dev/null", "not a file")),
    (("--no-such-option",), ("--no-such-option", "tinygram stream --help")),
]


@contextmanager
def nothing_may_start(_seed: int) -> Iterator[None]:
    raise AssertionError("the measurement was begun")
    yield


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_it_is_one_line_with_the_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tinygram", "stream", *arguments])
    monkeypatch.setattr(stream_module, "stream_bench", nothing_may_start)
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tinygram: error: ")
    assert captured.err.count("\n") == 1
    for part in said:
        assert part in captured.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_right_does_begin_a_measurement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tinygram", "stream"])
    monkeypatch.setattr(stream_module, "stream_bench", nothing_may_start)
    with pytest.raises(AssertionError, match="the measurement was begun"):
        main()


def test_the_installed_command_says_it_too(command: Command) -> None:
    done = command.run("--only", "strategy=nagel")
    assert (done.code, done.stdout, done.result) == (2, "", None)
    assert done.stderr.startswith("tinygram: error: unknown strategy 'nagel'")
    assert done.stderr.count("\n") == 1


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
