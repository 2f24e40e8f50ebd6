"""How many file descriptors this process may have, and how many connections take."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from tinygram_bench.model.errors import UsageError

if TYPE_CHECKING:
    from tinygram_bench.model.result import Case

_SPARE = 100
"""The descriptors that a process takes beside those of its connections, or fewer."""


def raise_descriptor_limit() -> None:
    """Raise this process's limit of descriptors as far as permitted: each connection takes one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def descriptors_of(case: Case) -> int:
    """How many its connections take where it is measured: the library has a second one of each."""
    has_two = case.implementation == "tinygram" and case.runtime != "native"
    return case.connections * (2 if has_two else 1)


def check_descriptors(option: str, connections: int, taken: int) -> None:
    """Raise UsageError where a process may not have the `taken` descriptors of its connections.

    `option`: the option that says how many connections there are.
    """
    needed = taken + _SPARE
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        fitting = (most - _SPARE) * connections // taken
        raise UsageError(
            f"{option} {connections} needs {needed} descriptors, and a process may have "
            f"{most} here (RLIMIT_NOFILE): raise the hard limit (ulimit -Hn {needed}, as root), or "
            f"ask for {max(1, fitting)} at most"
        )
