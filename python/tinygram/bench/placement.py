"""Which core each process of a run stays on."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tinygram.bench.errors import UsageError

PLACEMENTS = ("apart", "same", "none")


@dataclass(frozen=True)
class Placement:
    """Core numbers; None: wherever the kernel likes."""

    sender_cpu: int | None
    receiver_cpu: int | None


def default_placement() -> str:
    """`apart` where two cores are to be had, else `same`."""
    return "apart" if len(os.sched_getaffinity(0)) > 1 else "same"


def placement(name: str) -> Placement:
    """`apart`: all of the sender's side on one core, the receiver on another; `same`: one core.

    Raises UsageError when the name is unknown or this process may not use two cores.
    """
    cpus = sorted(os.sched_getaffinity(0))
    match name:
        case "none":
            return Placement(None, None)
        case "same":
            return Placement(cpus[0], cpus[0])
        case "apart" if len(cpus) > 1:
            return Placement(cpus[0], cpus[1])
        case "apart":
            raise UsageError(
                "--pin apart needs two cores, and this process may use one: --pin same"
            )
    raise UsageError(f"unknown placement {name!r}: the known ones are {', '.join(PLACEMENTS)}")
