"""The examples at the end of each command's help work, in a shell, as they are written there.

Commands that measure are given the quickest settings beside, and servers a free port.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.experiments import paced, result_of
from typer.main import get_command

from tinygram_bench.cli.app import app
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.help.examples import EXAMPLES
from tinygram_bench.cli.help.tree import commands_of
from tinygram_bench.model import store

LIMIT_S = 120
QUICK = {
    "stream --rate": "--rounds 1 --duration 200ms --json result.json",
    "stream": "--rounds 1 --messages 2000 --json result.json",
    "rr --callers": "--rounds 1 --calls 20 --json result.json",
    "echo": "--rounds 1 --messages 500 --json result.json",
    "sizes": "--rounds 1 --sizes 1,2 --json result.json",
    "fanout": "--rounds 1 --duration 100ms --json result.json",
    "trust": "--json result.json",
    "serve": "--port 0",
}
"""What is added to an example, by the first words after `tinygram`.

Runs end by a count where they can: on a busy machine nothing may happen in a short time.
"""
LINES = list(dict.fromkeys(each.line for found in EXAMPLES.values() for each in found))
SERVERS = [line for line in LINES if line.startswith("tinygram serve")]
MINUTES = [line for line in LINES if line.startswith(("tinygram trust", "tinygram rerun"))]
CLUSTERS = [line for line in LINES if line.startswith("tinygram cluster") or "--cluster" in line]
"""There is none here: tests/cluster/on_ray has one."""
OTHERS = [line for line in LINES if line not in (*SERVERS, *MINUTES, *CLUSTERS)]


@pytest.fixture
def around(tmp_path: Path) -> dict[str, str]:
    """An environment where `tinygram` is the one under test, and all files are in `tmp_path`.

    There are results: result.json, before.json and after.json.
    """
    command = tmp_path / "bin" / "tinygram"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -B -m tinygram_bench "$@"\n')
    command.chmod(0o755)
    measured = result_of(*paced({"loop/nodelay": [20, 21], "loop/nagle": [30, 31]}))
    result = replace(measured, host="here")
    for name in ("result", "before", "after"):
        store.save(result, tmp_path / f"{name}.json")
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(tmp_path)}


def quickly(line: str) -> str:
    added = (more for words, more in QUICK.items() if line.startswith(f"tinygram {words}"))
    return f"{line} {next(added, '')}"


@pytest.mark.parametrize("line", OTHERS)
def test_an_example_works(line: str, tmp_path: Path, around: dict[str, str]) -> None:
    done = subprocess.run(
        ["sh", "-c", quickly(line)],
        cwd=tmp_path,
        env=around,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    redirected = tmp_path / line.rpartition(" > ")[2] if " > " in line else None
    assert done.stdout if redirected is None else redirected.read_text()


def interrupted(line: str, folder: Path, around: dict[str, str], first: str) -> None:
    """Run it until it has told its first line, which begins so; then Ctrl-C ends it."""
    with subprocess.Popen(
        ["sh", "-c", f"exec {quickly(line)} 2>&1"],
        cwd=folder,
        env=around,
        stdout=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        limit = threading.Timer(LIMIT_S, command.kill)
        limit.start()
        try:
            told = ""
            while not told.startswith(first):
                told = command.stdout.readline()
                assert told, f"it ended, or {LIMIT_S} s were over, before it told {first!r}"
            command.send_signal(signal.SIGINT)
            command.communicate()
        finally:
            limit.cancel()
    assert command.returncode == ExitCode.INTERRUPTED


@pytest.mark.parametrize("line", SERVERS)
def test_an_example_of_a_server_listens(line: str, tmp_path: Path, around: dict[str, str]) -> None:
    interrupted(line, tmp_path, around, "listening ")


@pytest.mark.parametrize("line", MINUTES)
def test_an_example_that_takes_minutes_begins(
    line: str, tmp_path: Path, around: dict[str, str]
) -> None:
    """What it finds at its end is specified in tests/trust."""
    interrupted(line, tmp_path, around, "run 1/")


def helps(command: Any) -> Iterator[Any]:
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from helps(below)


@pytest.mark.parametrize("line", CLUSTERS)
def test_without_a_cluster_an_example_says_so_in_one_line(
    line: str, around: dict[str, str]
) -> None:
    done = subprocess.run(
        ["sh", "-c", line], env=around, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    (said,) = done.stderr.splitlines()
    assert said.startswith("tinygram: error: --cluster")


def test_every_help_ends_with_two_examples() -> None:
    root = get_command(app)
    commands = list(commands_of(root))
    assert {each.words for each in commands} == set(EXAMPLES)
    for command, described in zip(helps(root), commands, strict=True):
        shown = command.get_help(command.make_context("", [], resilient_parsing=True))
        _, _, end = shown.rpartition("Examples:")
        lines = [line.strip() for line in end.splitlines() if line.strip()]
        first, second = EXAMPLES[described.words]
        assert lines == [first.meaning, first.line, second.meaning, second.line]
