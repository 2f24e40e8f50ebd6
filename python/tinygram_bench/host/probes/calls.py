"""The CPU time of a sender's writes and waits, and of the program between them.

The preloaded library measures them by the clock of the calling thread (crates/load, call_times.h).
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygram_bench import _native

CallTimes = Mapping[str, int]
"""Totals so far. `…_calls`: how many there were; `…_ns`: their CPU time; `between_ns`: the CPU time
between them. `asked`: after how many writes the kernel was asked for unsent bytes; `unsent`: after
how many of these it had some."""

TIMES = (
    "write_cpu_ns",
    "waits",
    "wait_cpu_ns",
    "program_cpu_ns",
    "timing_cpu_ns",
    "unsent_writes",
)
"""The counters that are made of these totals."""


def call_times() -> CallTimes | None:
    """The totals so far; None where the library is not preloaded."""
    found = _native.call_times()
    return None if found is None else dict(found)


def times_so_far() -> dict[str, int | None]:
    """The counters TIMES since this process began; None: not counted."""
    now = call_times()
    return taken_between(None if now is None else dict.fromkeys(now, 0), now)


def taken_between(earlier: CallTimes | None, later: CallTimes | None) -> dict[str, int | None]:
    """The counters TIMES between two totals; None: not counted, or not asked for."""
    if earlier is None or later is None:
        return dict.fromkeys(TIMES)
    grown = {name: total - earlier[name] for name, total in later.items()}
    return {
        "write_cpu_ns": grown["write_ns"],
        "waits": grown["wait_calls"],
        "wait_cpu_ns": grown["wait_ns"],
        "program_cpu_ns": grown["between_ns"],
        "timing_cpu_ns": grown["timing_ns"],
        "unsent_writes": _unsent_writes(grown),
    }


def _unsent_writes(grown: CallTimes) -> int | None:
    """How many writes left unsent bytes, extrapolated from the writes that were asked about."""
    if not grown["write_calls"]:
        return 0
    asked = grown["asked"]
    return round(grown["unsent"] * grown["write_calls"] / asked) if asked else None
