"""What the runs of all workloads have in common."""

from __future__ import annotations

from collections.abc import Callable

from tinygram.bench.result import Case, Run
from tinygram.bench.workers import RunError


def kept_failure(case: Case, round: int, measure: Callable[[Case, int], Run]) -> Run:
    """What `measure` makes, its failure put into the run.

    What the run's processes counted is their word: a count below 0 fails it.
    """
    try:
        return _checked(measure(case, round))
    except RunError as failure:
        return Run(case.case_id, round, {}, {}, failure=str(failure))
    except Exception as fault:  # noqa: BLE001 - it is kept in the run, and the other runs too
        name = type(fault).__name__
        return Run(case.case_id, round, {}, {}, failure=f"the run broke: {name}: {fault}")


def _checked(run: Run) -> Run:
    """Raises RunError for a count that cannot be."""
    for name, count in run.counters.items():
        if count is not None and count < 0:
            raise RunError(f"the counter {name} is {count}, and nothing can be counted below 0")
    return run


def whole(case: Case, name: str) -> int:
    """A parameter of the case that is a whole number."""
    value = whole_or_none(case, name)
    assert value is not None, f"{case.case_id} has no {name}"
    return value


def whole_or_none(case: Case, name: str) -> int | None:
    """The same, None where the case has none."""
    value = case.parameters.get(name)
    assert value is None or isinstance(value, int), f"{name} of {case.case_id} is {value!r}"
    return value
