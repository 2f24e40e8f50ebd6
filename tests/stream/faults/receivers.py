"""The command lines of receivers that are not ours, for `--receiver-command`."""

from __future__ import annotations

import shlex
import sys
import uuid
from pathlib import Path


def program(name: str, *arguments: object) -> str:
    """The command line of one of our programs, for `--receiver-command`."""
    return shlex.join([sys.executable, "-m", f"tests.stream.programs.{name}", *map(str, arguments)])


def in_turn(folder: Path, *turns: str) -> str:
    """The command line of receivers that change from start to start, as `turns` describes."""
    starts = folder / f"starts-{uuid.uuid4().hex}"
    starts.mkdir()
    return program("turns", starts, *turns)
