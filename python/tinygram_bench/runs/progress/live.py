"""The rates of cases while they take turns, for those who watch (decision 0037).

Law: nothing here happens while a slice lasts. The parent is awake between two slices, where it
reads CPU clocks; a few times a second it then asks the kernel how much has arrived for the case
whose slice has ended, and has that told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from tinygram_bench.model.result import Case
from tinygram_bench.runs.progress.arrived import Arrived
from tinygram_bench.runs.slices import Slices
from tinygram_bench.statistics.workloads.loads import Load

_EVERY_S = 0.25

Tell = Callable[[dict[str, float], float], None]
"""Gets the messages or calls per second of cases by their ids, as far as they are known, and how
many seconds their slices still take."""
Between = Callable[[int], None]
"""Called after a slice, with the number of its case."""


class Live(Struct):
    """Where a bench finds those who watch: nobody, unless `tell` is set."""

    tell: Tell | None = None

    @contextmanager
    def watching(
        self,
        cases: Sequence[tuple[Case, Slices, Sequence[int]]],
        clock: Callable[[], float] = time.monotonic,
    ) -> Iterator[Between]:
        """Yields what to call between slices. `cases`: each with its slices and receivers' pids."""
        if self.tell is None:
            yield lambda _ended: None
            return
        with ExitStack() as stack:
            arrived = [stack.enter_context(Arrived(pids)) for _, _, pids in cases]
            sides = [
                _Side(case, slices, each)
                for (case, slices, _), each in zip(cases, arrived, strict=True)
            ]
            yield _Watching(sides, self.tell, clock)


class _Side:
    """A case, and the bytes that have arrived since the first look at it."""

    def __init__(self, case: Case, slices: Slices, arrived: Arrived) -> None:
        self.case, self.slices = case, slices
        self._open_ns = slices.open_ns if case.is_flat_out else slices.slice_ns
        self._arrived = arrived
        # Over TLS it is not known here how many messages records hold, nor how many bytes of each.
        self._first = None if Load.of(case).tls else arrived.bytes()
        self.over = 0

    def rate_per_s(self) -> float | None:
        if self._first is None or not self.over:
            return None
        now = self._arrived.bytes()
        if now is None:
            return None
        size = self.case.message_bytes
        messages = (now - self._first) / ((size.min + size.max) / 2)
        return messages / (self.over * self._open_ns) * 1e9


class _Watching:
    """Rates that are told a few times a second, of one more case each time."""

    def __init__(self, sides: Sequence[_Side], tell: Tell, clock: Callable[[], float]) -> None:
        self._sides = sides
        self._tell = tell
        self._clock = clock
        self._told_s = clock()
        self._rates: dict[str, float] = {}

    def __call__(self, ended: int) -> None:
        side = self._sides[ended]
        side.over += 1
        now_s = self._clock()
        if now_s - self._told_s < _EVERY_S:
            return
        self._told_s = now_s
        rate_per_s = side.rate_per_s()
        if rate_per_s is not None:
            self._rates[side.case.case_id] = rate_per_s
        self._tell(self._rates, self._left_s())

    def _left_s(self) -> float:
        """The seconds that the remaining slices take, with the gaps after them."""
        left_ns = {
            # Cases that run at the same time have the same slices.
            side.slices.begins_ns[0]: (len(side.slices.begins_ns) - side.over)
            * (side.slices.slice_ns + side.slices.gap_ns)
            for side in self._sides
        }
        return sum(left_ns.values()) / 1e9
