"""Which core each process of a run stays on."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from tinygram_bench.model.errors import UsageError

PLACEMENTS = ("apart", "same", "none")


class Placement(Struct, frozen=True):
    """The numbers of the two sides' cores; None: the kernel chooses."""

    sender_cpu: int | None
    receiver_cpu: int | None


def default_placement() -> str:
    """`apart` where two cores are available, else `same`."""
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
            siblings = _siblings(cpus[0])
            others = [cpu for cpu in cpus[1:] if cpu not in siblings]
            return Placement(cpus[0], (others or cpus[1:])[0])
        case "apart":
            raise UsageError(
                "--pin apart needs two cores, and this process may use only one: use --pin same"
            )
    raise UsageError(f"unknown placement {name!r}: the known ones are {', '.join(PLACEMENTS)}")


def _siblings(cpu: int) -> set[int]:
    """The core numbers that share one physical core with `cpu`; empty where that is not known."""
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        ranges = path.read_text().strip().split(",")
        ends = [[int(end) for end in text.split("-")] for text in ranges]
    except (OSError, ValueError):
        return set()
    return {number for pair in ends for number in range(pair[0], pair[-1] + 1)}
