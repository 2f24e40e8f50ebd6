"""The terminal that the command writes to."""

from __future__ import annotations

import errno
import os
from typing import NoReturn

from rich import console as rich

from tinygram_bench.model.plain_text import wants_no_style


class Console(rich.Console):
    """A console that leaves broken pipes to `main`; rich's own exits with status 1."""

    def on_broken_pipe(self) -> NoReturn:
        """Raises BrokenPipeError."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(is_on_stderr: bool = False) -> Console:
    """Where people read: without colours and bold text where NO_COLOR asks for that."""
    if wants_no_style(os.environ):
        return Console(highlight=False, stderr=is_on_stderr, color_system=None)
    return Console(highlight=False, stderr=is_on_stderr)
