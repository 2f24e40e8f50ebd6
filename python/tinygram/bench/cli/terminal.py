"""The terminal that the command writes to."""

from __future__ import annotations

import os

from rich.console import Console

from tinygram.bench.plain_text import wants_no_style


def console(is_on_stderr: bool = False) -> Console:
    """Where people read: without colours and bold text where NO_COLOR asks for that."""
    if wants_no_style(os.environ):
        return Console(highlight=False, stderr=is_on_stderr, color_system=None)
    return Console(highlight=False, stderr=is_on_stderr)
