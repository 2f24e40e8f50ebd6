"""What a host can have of subscribers, and a run of messages; each refusal names its remedy."""

from __future__ import annotations

import resource

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Plan

_MOST_DELIVERIES = 100_000_000
_SPARE_DESCRIPTORS = 100


def check_descriptors(plan: Plan) -> None:
    """Raises UsageError where a process may not have as many descriptors as the plan takes."""
    case = max(plan.cases, key=_descriptors)
    subscribers, needed = case.connections, _descriptors(case) + _SPARE_DESCRIPTORS
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        fitting = (most - _SPARE_DESCRIPTORS) * subscribers // _descriptors(case)
        raise UsageError(
            f"--subscribers {subscribers} needs {needed} descriptors, and a process may have "
            f"{most} here: raise the hard limit (ulimit -Hn {needed}, as root), or ask for "
            f"{max(1, fitting)} at most"
        )


def _descriptors(case: Case) -> int:
    """The library has a second descriptor of each connection."""
    has_two = case.implementation == "tinygram" and case.runtime != "native"
    return case.connections * (2 if has_two else 1)


def check_rate(rate_per_s: float, burst: int, duration_ns: int, subscribers: int) -> None:
    """Raises UsageError where a run has no publication, or too many messages."""
    publications = rate_per_s * duration_ns / 1e9
    messages = publications * subscribers
    if round(publications) < burst:
        raise UsageError(
            f"--rate {rate_per_s:g} has no publication in the run: name a longer --duration"
        )
    if messages > _MOST_DELIVERIES:
        raise UsageError(
            f"--rate {rate_per_s:g} to {subscribers} subscribers is {messages:.3g} messages "
            "in each run: 100 million are allowed, so name a lower rate, a shorter "
            "--duration or fewer subscribers"
        )
