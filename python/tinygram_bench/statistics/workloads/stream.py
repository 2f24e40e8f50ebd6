"""Where the time until a message of `stream` arrives was spent."""

from __future__ import annotations

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.spent import Spent, mean_of, mean_time


def arrival_spent(case: Case, run: Run) -> Spent | None:
    """The mean latency and its parts; a flat-out stream has none: its time is that of the queue.

    A hold is counted per message.
    """
    messages = run.counters.get("messages")
    if case.is_flat_out:
        return None
    parts_us = {}
    if messages:
        held, late = mean_of(run, "hold"), mean_of(run, "pacing_error")
        parts_us["hold"] = 0.0 if held is None else held.us * held.of / messages
        if late is not None:
            parts_us["pacer"] = late.us
    return mean_time(run, "latency", parts_us)
