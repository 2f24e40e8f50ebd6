"""The report of a stored result as a file gets it, with lines as long as a page has room for."""

from __future__ import annotations

import io
from pathlib import Path
from textwrap import fill

from rich.console import Console

from tinygram_bench.model import store
from tinygram_bench.report import render

_WIDTH = 110


def printed(path: Path) -> str:
    """What `tinygram report FILE` prints."""
    told = io.StringIO()
    render(store.load(path), Console(file=told), published=False)
    return "\n".join(map(_wrapped, told.getvalue().rstrip("\n").splitlines()))


def _wrapped(line: str) -> str:
    """Lines of tables stay as they are."""
    return fill(line, _WIDTH, subsequent_indent="  ") if line.startswith("- ") else line
