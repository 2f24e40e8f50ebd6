"""When a flat-out sender may hand over messages: in the first part of each slice."""

from __future__ import annotations

import time
from collections.abc import Sequence


class Openings:
    """The openings of one thread; the clock starts with `start`."""

    def __init__(self, begins_ns: Sequence[int], open_ns: int) -> None:
        """`begins_ns`: when each opening begins after the start. `open_ns`: how long each lasts."""
        self._begins_ns = begins_ns
        self._open_ns = open_ns
        self._start_ns = 0
        self._number = 0
        self._until_ns = 0

    @property
    def native(self) -> tuple[Sequence[int], int, int]:
        """The openings as native code takes slices; no part of them settles."""
        return self._begins_ns, self._open_ns, 0

    def start(self, start_ns: int) -> None:
        """Start the clock; `start_ns` is a time of CLOCK_MONOTONIC."""
        self._start_ns = start_ns

    def wait_ns(self) -> int | None:
        """How long to wait until messages may be handed over, in ns; 0: now; None: never again."""
        now_ns = time.monotonic_ns()
        if now_ns < self._until_ns:
            return 0
        while self._number < len(self._begins_ns):
            begin_ns = self._start_ns + self._begins_ns[self._number]
            if now_ns < begin_ns:
                return begin_ns - now_ns
            if now_ns < begin_ns + self._open_ns:
                self._until_ns = begin_ns + self._open_ns
                return 0
            self._number += 1
        return None
