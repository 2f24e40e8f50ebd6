"""What a link carried, lost and dropped during a run, from counters that only grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tinygram_bench._native import Histogram


@dataclass(frozen=True)
class Traffic:
    """Named counts, and how late packets were, where that is known."""

    counters: dict[str, int] = field(default_factory=dict)
    lateness: Histogram | None = None


class TrafficMeter:
    """Counts the traffic since it was last asked; at first, since it was made."""

    def __init__(
        self,
        read: Callable[[], dict[str, int]],
        take_lateness: Callable[[], Histogram | None] = lambda: None,
    ) -> None:
        """`read`: the counters so far; `take_lateness`: of the packets since it was last called."""
        self._read = read
        self._take_lateness = take_lateness
        self._before = read()
        # The traffic until now, which calibrated the link, belongs to no run.
        take_lateness()

    def take(self) -> Traffic:
        """The traffic since the last call. Raises what `read` raises."""
        now, before = self._read(), self._before
        self._before = now
        return Traffic({name: now[name] - before[name] for name in now}, self._take_lateness())
