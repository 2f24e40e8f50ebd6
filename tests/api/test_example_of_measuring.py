"""The program of examples/bench runs as it is, and prints what it should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "bench" / "measure.py"
BESIDE = "tinygram: another measurement uses cores"


def test_a_program_measures_and_reads_its_figures() -> None:
    process = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLE], capture_output=True, text=True, timeout=300
    )
    # It is told of others that measure, such as tests beside this one.
    told = [line for line in process.stderr.splitlines() if not line.startswith(BESIDE)]
    assert (told, process.returncode) == ([], 0)
    expected = r"nodelay: 1 messages in a write\ntick: \d+ messages in a write\n"
    assert re.fullmatch(expected, process.stdout), process.stdout
