"""A source with a planted difference, to see whether a comparison finds it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tinygram_bench._native import MessagePool
from tinygram_bench.loads.source import Source

_SLEEPS_EVERY = 100


class PlantedSource(Source):
    """Before each message the sender computes for `spin_ns`; before each 100th it sleeps."""

    def __init__(self, pool: MessagePool, *, spin_ns: int, sleep_ns: int, **source: Any) -> None:
        """`pool`, `source`: what `Source` takes."""
        super().__init__(pool, **source)
        self._spin_ns = spin_ns
        self._sleep_ns = sleep_ns

    def _slice(self, first: int, last: int) -> Sequence[bytes]:
        # The first reading of the clock is slow, whatever is planted; the next ones are alike.
        time.monotonic_ns()
        until_ns = time.monotonic_ns() + self._spin_ns * (last - first)
        while time.monotonic_ns() < until_ns:
            pass
        if self._sleep_ns and any(index % _SLEEPS_EVERY == 0 for index in range(first, last)):
            time.sleep(self._sleep_ns / 1e9)
        return super()._slice(first, last)
