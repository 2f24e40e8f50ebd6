"""The share of slices in which something stopped; such slices count like all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

STALLED_SHARE = "stalled_slices_share"
STALL_US = 2_000.0
"""In µs: longer than a message waits for anything on a host that is at rest."""
_TIMED = ("latency", "queueing", "call", "round_trip")


def stalled_share(slices: Mapping[str, Sequence[float | None]]) -> float | None:
    """The share of slices in which a message took over 2 ms longer than half of the others.

    None where there are no slices with times.
    """
    longer_us = [
        most - middle
        for name in _TIMED
        for middle, most in zip(
            slices.get(f"{name}_p50_us", ()), slices.get(f"{name}_max_us", ()), strict=False
        )
        if middle is not None and most is not None
    ]
    return sum(each > STALL_US for each in longer_us) / len(longer_us) if longer_us else None
