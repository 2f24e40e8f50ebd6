"""The terminal that the command writes to."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NoReturn

from tinygram_bench.model.plain_text import wants_no_style

if TYPE_CHECKING:
    from rich.console import Console


def console(is_on_stderr: bool = False) -> Console:
    """The console that people read: without colours and bold text where NO_COLOR asks for that.

    It leaves broken pipes to `main`; rich's own console would exit with status 1.
    """
    # Importing rich takes a tenth of the command's start; help, errors and --quiet do without it.
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> NoReturn:
            """Raises BrokenPipeError."""
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    if wants_no_style(os.environ):
        return Piped(highlight=False, stderr=is_on_stderr, color_system=None)
    return Piped(highlight=False, stderr=is_on_stderr)
