"""The libraries of `programs` that, preloaded, stand between a program and its kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.library.wires import LONGEST_S

PROGRAMS = Path(__file__).parent / "programs"


def compiled(name: str, folder: Path) -> Path:
    """The library `name`, in a folder; the test is skipped where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = folder / f"{name}.so"
    options = ["-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([compiler, *options, str(PROGRAMS / f"{name}.c"), "-ldl"], check=True)
    return library


def run_with(library: Path, program: str, *arguments: str) -> str:
    """What a program prints that has the library preloaded; it must succeed."""
    process = subprocess.run(
        [sys.executable, PROGRAMS / program, *arguments],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=3 * LONGEST_S,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout
