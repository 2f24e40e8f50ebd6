"""Marks on figures that are compared with a baseline, where they are not shown to differ."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.model.result import Verdict
from tinygram_bench.report.formats import UNKNOWN, number

MARKS = {"faster": "", "slower": "", "no_difference_shown": "=", "cannot_say": "?"}
MAX_REASONS = 3


def marked_ratio(verdict: Verdict | None) -> str:
    """The verdict's ratio and its mark."""
    if verdict is None or verdict.ratio is None:
        return UNKNOWN
    return number(verdict.ratio.median) + MARKS[verdict.verdict]


def legend(verdicts: Sequence[Verdict], baseline: str) -> tuple[str, ...]:
    """What the marks of `verdicts` mean, where there are any."""
    notes = []
    if any(verdict.verdict == "no_difference_shown" for verdict in verdicts):
        notes.append(f"=  no difference from {baseline} shown")
    reasons = tuple(dict.fromkeys(each.reason for each in verdicts if each.reason))
    if reasons:
        more = len(reasons) - MAX_REASONS
        text = "; ".join(reasons[:MAX_REASONS]) + (f"; and {more} more" if more > 0 else "")
        notes.append(f"?  cannot say: {text}")
    return tuple(notes)
