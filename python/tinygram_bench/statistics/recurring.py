"""Warnings that come and go between rounds, and when they count for the case as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from tinygram_bench.model.result import Run

FELL_BEHIND = "fell_behind"
"""The warning of a run whose messages came later and later: the sender cannot send so many."""


def recurs(code: str, runs: Iterable[Run]) -> bool:
    """Whether half of a case's good rounds or more have the warning.

    With fewer, the median is that of rounds without it, and the interval covers the others.
    """
    have = [
        any(warning.code == code for warning in run.warnings) for run in runs if run.failure is None
    ]
    return any(have) and 2 * sum(have) >= len(have)
