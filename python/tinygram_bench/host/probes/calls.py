"""CPU time of a sender's writes and waits, and of what it does between them.

The preloaded library takes it for one call in many, by the clock of the calling thread
(crates/load, call_times.h); here it is scaled to all calls.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygram_bench import _native

CallTimes = Mapping[str, int]
"""Totals so far. `…_calls`: how many there were; `…_weight`: how many those stand for that were
timed, and `…_ns` what so many took; `between`: from one call to the next."""

TIMES = (
    "write_cpu_ns",
    "waits",
    "wait_cpu_ns",
    "program_cpu_ns",
    "timing_cpu_ns",
    "unsent_writes",
)
"""The counters that come of them."""


def call_times() -> CallTimes | None:
    """None where the library is not preloaded."""
    found = _native.call_times()
    return None if found is None else dict(found)


def times_so_far() -> dict[str, int | None]:
    """The counters TIMES since this process began; null: not counted, or none was timed."""
    now = call_times()
    return taken_between(None if now is None else dict.fromkeys(now, 0), now)


def taken_between(earlier: CallTimes | None, later: CallTimes | None) -> dict[str, int | None]:
    """The counters TIMES of what lies between two totals; null: not counted, or none was timed."""
    if earlier is None or later is None:
        return dict.fromkeys(TIMES)
    grown = {name: total - earlier[name] for name, total in later.items()}
    writes, waits = grown["write_calls"], grown["wait_calls"]

    def scaled(what: str, of: str, calls: int) -> int | None:
        """`what` of all `calls`, of which those that were timed stand for as many as `of` says."""
        weight = grown[f"{of}_weight"]
        if not calls:
            return 0
        return round(grown[what] * calls / weight) if weight else None

    return {
        "write_cpu_ns": scaled("write_ns", "write", writes),
        "waits": waits,
        "wait_cpu_ns": scaled("wait_ns", "wait", waits),
        "program_cpu_ns": scaled("between_ns", "between", writes + waits),
        "timing_cpu_ns": grown["clock_ns"],
        "unsent_writes": scaled("unsent_weight", "write", writes),
    }
