"""What type checkers say of programs that use the library, as its users run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

_PROGRAMS = Path(__file__).parent / "typed"
_Lines = set[tuple[str, int]]


def _output_of(folder: Path, *command: str) -> str:
    """What a checker says in a folder that holds the programs alone, without a configuration."""
    shutil.copytree(_PROGRAMS, folder, dirs_exist_ok=True)
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    names = sorted(path.name for path in folder.glob("*.py"))
    done = subprocess.run(
        [sys.executable, "-m", *command, *names],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def _faults_of_mypy(folder: Path) -> _Lines:
    told = _output_of(folder, "mypy", "--strict", "--config-file=", "--cache-dir", os.devnull)
    return {(name, int(line)) for name, line in re.findall(r"^(.+?):(\d+): error:", told, re.M)}


def _faults_of_pyright(folder: Path) -> _Lines:
    told = _output_of(folder, "pyright", "--outputjson", "--pythonpath", sys.executable)
    return {
        (Path(fault["file"]).name, fault["range"]["start"]["line"] + 1)
        for fault in json.loads(told)["generalDiagnostics"]
    }


@pytest.mark.parametrize("faults_of", [_faults_of_mypy, _faults_of_pyright])
def test_checkers_find_each_misuse_and_nothing_else(
    tmp_path: Path, faults_of: Callable[[Path], _Lines]
) -> None:
    marked = {
        (path.name, number)
        for path in _PROGRAMS.glob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.endswith("# refused")
    }
    assert len(marked) > 30
    assert faults_of(tmp_path) == marked
