"""Runs `tinygram serve …` as its users do."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LONGEST_S = 120.0


@dataclass
class Serving:
    """A running server; `said` is what it left on stderr when it was ended."""

    process: subprocess.Popen[str]
    port: int
    said: str = ""

    def resident_bytes(self) -> int:
        """What it holds in memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def counter(self, name: str) -> int:
        """One of the counts that it left."""
        found = re.search(rf"^{name}: (\d+)$", self.said, re.MULTILINE)
        assert found is not None, self.said
        return int(found[1])


@contextmanager
def serving(*arguments: object) -> Iterator[Serving]:
    """`tinygram serve ARGUMENTS`, ended by Ctrl-C."""
    process = subprocess.Popen(
        [*(sys.executable, "-B", "-m", "tinygram_bench", "serve"), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"listening (\d+)\n", line)
        assert found is not None, line
        served = Serving(process, int(found[1]))
        yield served
        process.send_signal(signal.SIGINT)
        _, served.said = process.communicate(timeout=LONGEST_S)
        assert process.returncode == 130, served.said
        assert "Traceback" not in served.said
    finally:
        process.kill()
        process.communicate()
