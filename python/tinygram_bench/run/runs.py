"""What the runs of all workloads have in common."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from tinygram_bench.model.result import Case, Run, Warning
from tinygram_bench.processes.workers import RunError

_MOST_PER_NS = 10_000
"""Of any counter: the ns of more threads than a run may have, or 10 TB/s."""
_SHORTEST_NS = 10**9
"""A shorter run is taken for one of that length: some counters are of buffers, not of the time."""


def kept_failure(case: Case, round: int, measure: Callable[[Case, int], Run]) -> Run:
    """What `measure` makes, its failure put into the run.

    What the run's processes counted is their word: a count below 0, or above what a run of that
    length can have, fails it.
    """
    began_ns = time.monotonic_ns()
    try:
        run = measure(case, round)
        return _checked(run, time.monotonic_ns() - began_ns)
    except RunError as failure:
        return Run(case.case_id, round, {}, {}, failure=str(failure))
    except Exception as fault:  # noqa: BLE001 - it is kept in the run, and the other runs too
        name = type(fault).__name__
        return Run(case.case_id, round, {}, {}, failure=f"the run broke: {name}: {fault}")


def _checked(run: Run, took_ns: int) -> Run:
    """Raises RunError for a count that cannot be."""
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


def strangers_told(counters: Mapping[str, int | None]) -> tuple[Warning, ...]:
    """The warning of a run whose receiver or server other programs connected to."""
    strangers = counters.get("strangers")
    if not strangers:
        return ()
    message = (
        f"connections of other programs, which were turned away: {strangers}; what else these "
        "programs did on this host is not known"
    )
    return (Warning("strangers", message),)
