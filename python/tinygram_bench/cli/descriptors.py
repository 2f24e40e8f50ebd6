"""How many connections a process may have; the refusal names the limit and the remedy."""

from __future__ import annotations

import resource

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Plan

_SPARE_DESCRIPTORS = 100


def check_descriptors(option: str, plan: Plan) -> None:
    """Raises UsageError where a process may not have as many descriptors as the plan takes.

    `option`: the one that says how many connections there are.
    """
    case = max(plan.cases, key=_descriptors)
    connections, needed = case.connections, _descriptors(case) + _SPARE_DESCRIPTORS
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        fitting = (most - _SPARE_DESCRIPTORS) * connections // _descriptors(case)
        raise UsageError(
            f"{option} {connections} needs {needed} descriptors, and a process may have "
            f"{most} here (RLIMIT_NOFILE): raise the hard limit (ulimit -Hn {needed}, as root), or "
            f"ask for {max(1, fitting)} at most"
        )


def _descriptors(case: Case) -> int:
    """The library has a second descriptor of each connection."""
    has_two = case.implementation == "tinygram" and case.runtime != "native"
    return case.connections * (2 if has_two else 1)
