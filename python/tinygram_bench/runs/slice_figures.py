"""What the slices of a run say: percentiles of slices and of blocks of them, counters, warnings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from tinygram_bench.model.result import Warning
from tinygram_bench.runs.slices import Slices, Used

LATE_US = "late_us"
"""In a run's `slices`: how long after the end of each slice its last message came."""
_BLOCKS = {"p99": (990, 500), "p99_9": (999, 5_000)}
"""Percentile → its thousandths, and the messages that the slices of a block have together."""
_OF_A_SLICE: dict[str, Callable[[Sequence[int]], float]] = {"p50": median, "max": max}
_MOST_AT_REST = 0.02
"""The most CPU time between a case's slices, as a share of the time in its slices."""

Values = tuple[float | None, ...]


def percentiles_us(
    name: str, by_slice_ns: Sequence[Sequence[int]], per_slice: float
) -> dict[str, Values]:
    """`NAME_p50_us` and `NAME_max_us` of each slice, `NAME_p99_us`, `NAME_p99_9_us` of each block.

    `per_slice`: how many values a slice has, or has at least. This is the same for all cases of a
    load, and not what was counted, so that they have the same blocks. None where a block has less
    than half of the values that it should have.
    """
    found: dict[str, Values] = {
        f"{name}_{what}_us": tuple(of(each) / 1e3 if each else None for each in by_slice_ns)
        for what, of in _OF_A_SLICE.items()
    }
    for percentile, (per_mille, least) in _BLOCKS.items():
        length = math.ceil(least / per_slice)
        blocks = (
            [ns for each in by_slice_ns[first : first + length] for ns in each]
            for first in range(0, len(by_slice_ns) - length + 1, length)
        )
        found[f"{name}_{percentile}_us"] = tuple(
            _percentile_us(block, per_mille) if len(block) * 2 >= least else None
            for block in blocks
        )
    return found


def _percentile_us(values_ns: Sequence[int], per_mille: int) -> float:
    """The nearest-rank percentile: the least value that so many in a thousand do not exceed."""
    rank = -(-len(values_ns) * per_mille // 1_000)
    return sorted(values_ns)[rank - 1] / 1e3


def late_us(late_ns: Sequence[int]) -> dict[str, Values]:
    """`late_us` of each slice; 0 where the last message came before its end."""
    return {LATE_US: tuple(max(0, each) / 1e3 for each in late_ns)}


def late_after_us(last_ns: Sequence[int], start_ns: int, slices: Slices) -> dict[str, Values]:
    """The same by when each slice's last message came; the first cycle begins at `start_ns`."""
    return late_us(
        [
            last - (start_ns + begin_ns + slices.slice_ns)
            for last, begin_ns in zip(last_ns, slices.begins_ns, strict=True)
        ]
    )


def cpu_us_of_one(used: Used, counts: Sequence[int]) -> Values:
    """The CPU time of each slice for one of what it had; None where that is none, or not known."""
    return tuple(
        None if used_ns is None or not count else used_ns / 1e3 / count
        for used_ns, count in zip(used.by_whole_slice, counts, strict=True)
    )


def counters_of(used: Used) -> dict[str, int | None]:
    """The counters that all runs in slices have; overruns.py adds those of what came late."""
    own, other = used.in_slices, used.other_in_slices
    return {
        "slices": len(used.by_whole_slice),
        "resting_cpu_ns": used.resting,
        "other_resting_cpu_ns": used.other_resting,
        "sliced_context_switches": None if own is None else own.switches,
        "sliced_core_wait_ns": None if own is None else own.waited_ns,
        "other_sliced_core_wait_ns": None if other is None else other.waited_ns,
        "sliced_delayed_acks": used.delayed_acks,
    }


def slices_told(
    own_ns: int, counters: dict[str, int | None], who: str, other: str
) -> Iterator[Warning]:
    """The warnings of a run in slices; none where it was alone.

    `own_ns`: how long the run's slices are together. `who`: the end whose CPU time is the case's;
    `other`: its other end.
    """
    of_ends = {who: counters.get("resting_cpu_ns"), other: counters.get("other_resting_cpu_ns")}
    busy = [
        f"{end} used {resting_ns / 1e6:.1f} ms of CPU time"
        for end, resting_ns in of_ends.items()
        if resting_ns and resting_ns > own_ns * _MOST_AT_REST
    ]
    if busy:
        yield Warning(
            "not_at_rest",
            f"{' and '.join(busy)} between its slices, which the other cases of its load did not "
            "have",
        )
