"""Faults that the user can mend: shown as one line on stderr, never as a traceback."""

from __future__ import annotations


class UsageError(Exception):
    """The request cannot be carried out; the message names the value, what is allowed and how.

    The command line prints it as `tinygram: error: …` and exits 2.
    """


class OutputError(UsageError):
    """A result cannot be written where it was asked for."""
