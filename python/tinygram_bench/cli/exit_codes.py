"""The command's exit statuses, which scripts rely on."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    RUN_FAILED = 1
    USAGE = 2
    """Bad usage, unreadable input, unwritable output, or not permitted here."""
    REGRESSION = 3
    """Something is shown to be worse by more than `compare --fail-above` allows."""
    INCONCLUSIVE = 4
    INTERRUPTED = 130
    """Ctrl-C; finished runs are saved."""


MEANINGS = {
    ExitCode.OK: "Success.",
    ExitCode.RUN_FAILED: "A run failed.",
    ExitCode.USAGE: "Bad usage, unreadable input, unwritable output, or not permitted here.",
    ExitCode.INCONCLUSIVE: "What was asked cannot be said from what was measured.",
    ExitCode.INTERRUPTED: "Interrupted by Ctrl-C; the finished runs are saved.",
}
"""What each tells the user."""
