"""A kernel that takes a part, or nothing, of a write: at every point of what is sent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.library.setups import NAMES, Setup

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def cut_writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that, preloaded, cuts writes."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("preloaded") / "cut_writes.so"
    source = PROGRAMS / "cut_writes.c"
    options = ["-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    command = [compiler, *options, str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


@pytest.mark.parametrize("name", ["batch", *NAMES])
def test_each_byte_arrives_once_wherever_a_write_is_cut(name: str, cut_writes: Path) -> None:
    """cpython #103463: after a partial write bytes were repeated; sends of one byte, and EAGAIN."""
    if name != "batch":
        Setup(name)  # Skips where uvloop is absent.
    process = subprocess.run(
        [sys.executable, PROGRAMS / "cut_writes.py", name],
        env={**os.environ, "LD_PRELOAD": str(cut_writes)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert process.returncode == 0, process.stderr
