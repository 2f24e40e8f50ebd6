"""Reports: a result, as a person reads it. Everything printed comes from the `Result` alone.

The answer is what one sees: the sentences that say which way won come last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Console

from tinygram.bench.report.drawing import Pen
from tinygram.bench.report.loads import draw_loads
from tinygram.bench.report.names import all_cases
from tinygram.bench.report.rr import draw_rr
from tinygram.bench.report.sizes import draw_sizes
from tinygram.bench.result import Result

__all__ = ["render"]

REPORTS: Mapping[str, Callable[[Pen, Result, bool], None]] = {
    "stream": draw_loads,
    "rr": draw_rr,
    "echo": draw_loads,
    "sizes": draw_sizes,
}
"""Workload → what writes all of a report, with the published figures beside ours or without."""


def render(result: Result, console: Console, published: bool) -> None:
    """Print the tables, what to know about them, and the answer.

    `published` adds the published figures beside those measured here. On a terminal, columns that
    do not fit are left out, which is said; elsewhere, lines are plain ASCII and never wrapped.
    """
    workload = next((case.workload for case in all_cases(result)), "stream")
    REPORTS[workload](Pen(console), result, published)
