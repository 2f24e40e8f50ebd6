"""The command's exit statuses, which scripts rely on."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """An exit status, and its `meaning` as the manual gives it."""

    meaning: str

    def __new__(cls, status: int, meaning: str) -> ExitCode:
        """Make a member whose value is the number that the process exits with."""
        code = int.__new__(cls, status)
        code._value_ = status
        code.meaning = meaning
        return code

    OK = 0, "Success."
    RUN_FAILED = (
        1,
        "A run failed, or lacks a host of a cluster, or a scenario's figure is out of range, or a "
        "control of trust is wrong.",
    )
    USAGE = 2, "Bad usage, unreadable input, unwritable output, or not permitted here."
    REGRESSION = (
        3,
        "A figure is shown to be worse by more than `compare --fail-above` allows.",
    )
    INCONCLUSIVE = 4, "What was asked cannot be said from what was measured."
    INTERRUPTED = (
        130,
        "Interrupted by Ctrl-C, or ended by SIGTERM or SIGHUP: finished rounds are saved. It is "
        "the usual end of `serve`.",
    )
