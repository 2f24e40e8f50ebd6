"""Prints results as a file or a terminal gets them, and finds rows in what was printed."""

from __future__ import annotations

import io
import re

from rich.console import Console

from tinygram_bench.model.result import Result
from tinygram_bench.report import render


def printed(
    result: Result, width: int = 100, published: bool = False, with_notes: bool = True
) -> str:
    """What a file gets."""
    file = io.StringIO()
    render(result, Console(file=file, width=width, force_terminal=False), published, with_notes)
    return file.getvalue()


def shown(result: Result, width: int, published: bool = True) -> str:
    """What a terminal gets, its colours taken off."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system="standard")
    render(result, console, published, with_notes=True)
    text = file.getvalue()
    assert "\x1b[1m" in text
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def row(text: str, label: str, table: str = "Throughput") -> str:
    lines = text.splitlines()
    start = lines.index(table)
    return next(line for line in lines[start:] if line.startswith(label + " "))


def answer_in(text: str) -> str:
    """The answer, which ends at the reasons, or else at the first empty line."""
    answer = text.partition("The answer\n")[2].partition("\n\n")[0]
    return answer.partition("\nWhy\n")[0]
