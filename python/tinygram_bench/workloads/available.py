"""Which cases of a plan can run on this host, and why the others cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Unavailable

Missing = Callable[[Case], str | None]
"""Why a case cannot run here; None where it can.

Raises LookupError for an unknown way, and UsageError for an unknown strategy.
"""


def parted(
    cases: Iterable[Case], missing: Missing
) -> tuple[tuple[Case, ...], tuple[Unavailable, ...]]:
    """The cases that can run here, and those that cannot. Raises UsageError where none can."""
    here: list[Case] = []
    unavailable: list[Unavailable] = []
    for case in cases:
        reason = _reason(case, missing)
        if reason is None:
            here.append(case)
        else:
            unavailable.append(Unavailable(case, reason))
    if not here:
        raise UsageError(f"nothing to run: {unavailable[0].reason}")
    return tuple(here), tuple(unavailable)


def _reason(case: Case, missing: Missing) -> str | None:
    try:
        return missing(case)
    except (LookupError, UsageError) as error:
        return str(error)
