"""uvloop 0.23 writes each message where 0.22 gathered those of an iteration: counts catch it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.command import Command

OLDER = Path(__file__).parents[2] / ".venv" / "older-uvloop"
PACED = ("--rate", "4000", "--burst", "20", "--duration", "50ms", "--rounds", "6")
"""Bursts of 20 messages behind a queue, which its task writes in one iteration of the loop."""


def test_a_uvloop_that_writes_each_message_fails_the_gate_of_counts(tmp_path: Path) -> None:
    found = os.pathsep.join([str(OLDER), os.environ.get("PYTHONPATH", "")])
    versions = {}
    for name, around in (("before", {"PYTHONPATH": found}), ("after", {})):
        (tmp_path / name).mkdir()
        command = Command(tmp_path / name)
        done = command.run("--only", "uvloop/nodelay", "--quiet", *PACED, environment=around)
        assert done.code == 0, done.stderr
        versions[name] = done.result["environment"]["uvloop"].rpartition(".")[0]
    assert versions["before"] == "0.22"
    assert versions["after"] != "0.22"
    compared = subprocess.run(
        [sys.executable, "-B", "-m", "tinygram_bench", "compare"]
        + [str(tmp_path / name / "result.json") for name in versions]
        + ["--gate", "counts", "--fail-above", "10%", "--anyway"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert compared.returncode == 3, compared.stdout + compared.stderr
    said = "uvloop/nodelay, stream 4,000/s: writes per message x "
    ratio = re.search(re.escape(said) + r"([0-9.]+)", compared.stdout)
    assert ratio, compared.stdout
    assert float(ratio[1]) > 5  # About 20 where each burst is one write.
