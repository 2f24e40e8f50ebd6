"""What a link carried, lost and dropped during a run, from counters that only grow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from tinygram_bench._native import Histogram


class Traffic(Struct, frozen=True):
    """Counts by name, and how late packets were, where that is known.

    `stood_still_ns`: begin and end of each time in which the link carried nothing, because its
    relay had no core, in ns of CLOCK_MONOTONIC; None where that cannot happen.
    """

    counters: dict[str, int] = field(default_factory=dict)
    lateness: Histogram | None = None
    stood_still_ns: Sequence[tuple[int, int]] | None = None


class TrafficMeter:
    """Counts the traffic since the last `take`; at first, since the meter was made."""

    def __init__(
        self,
        read: Callable[[], dict[str, int]],
        take_lateness: Callable[[], Histogram | None] = lambda: None,
        take_stood_still_ns: Callable[[], Sequence[tuple[int, int]] | None] = lambda: None,
    ) -> None:
        """`read`: the counters so far. Each `take_…` returns what is new since its last call."""
        self._read = read
        self._take_lateness = take_lateness
        self._take_stood_still_ns = take_stood_still_ns
        self._before = read()
        # The traffic until now, which calibrated the link, belongs to no run.
        take_lateness()
        take_stood_still_ns()

    def take(self) -> Traffic:
        """The traffic since the last call. Raises the errors of `read`."""
        now, before = self._read(), self._before
        self._before = now
        counters = {name: now[name] - before[name] for name in now}
        return Traffic(counters, self._take_lateness(), self._take_stood_still_ns())
