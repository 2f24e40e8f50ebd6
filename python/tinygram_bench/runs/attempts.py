"""Attempts at runs: a failure is kept in the run, and its counts are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.workers import RunError

_MOST_PER_NS = 10_000
"""The fastest growth of a counter: CPU time of more threads than a run may have, or 10 TB/s."""
_SHORTEST_NS = 10**9
"""A shorter run counts as this long: some counters grow with buffers, not with time."""
T = TypeVar("T")


def attempt(case: Case, round: int, act: Callable[[], T]) -> T | Run:
    """The result of `act`; where it fails, a run with that failure."""
    try:
        return act()
    except RunError as failure:
        return Run(case.case_id, round, {}, {}, failure=str(failure))
    except Exception as fault:  # noqa: BLE001 - it is kept in the run, and the other runs too
        name = type(fault).__name__
        return Run(case.case_id, round, {}, {}, failure=f"the run broke: {name}: {fault}")


def checked(run: Run, took_ns: int) -> Run:
    """The same run. Raises RunError for an impossible count."""
    most = _MOST_PER_NS * max(took_ns, _SHORTEST_NS)
    for name, count in run.counters.items():
        if count is not None and count < 0:
            raise RunError(f"the counter {name} is {count}, which cannot be negative")
        if count is not None and count > most:
            raise RunError(
                f"the counter {name} is {count}, and a run of {took_ns / 1e9:.3g} s cannot count "
                f"more than {most}"
            )
    return run
