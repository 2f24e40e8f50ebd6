"""The difference of two hosts' clocks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from tinygram_bench.model.value import Value

MOST_DRIFT = 1_500e-6
"""The most drift between two clocks: each may be set faster or slower by 500 ppm (adjtimex(2)), and
is wrong by less than 250 on its own. A difference that grows faster is a jump."""
MOST_NS = 1 << 60
"""No clock that began with its host has come so far: 36 years. A time below it that a `Difference`
within its bounds converts fits into 64 bits."""
ClockTime = Annotated[int, Meta(ge=0, le=MOST_NS)]


class Difference(Value, frozen=True):
    """Far minus near is `offset_ns + rate × (near − since_ns)`, wrong by `bound_ns` at most.

    A rate that is more than a drift may come of two looks in quick succession; at −1 and below no
    far time would have a near one.
    """

    since_ns: ClockTime
    offset_ns: Annotated[int, Meta(ge=-MOST_NS, le=MOST_NS)]
    rate: Annotated[float, Meta(ge=-0.5, le=0.5)]
    bound_ns: ClockTime

    def far_ns(self, near_ns: int) -> int:
        """A time of the near clock, converted to the far one."""
        return near_ns + self.offset_ns + round(self.rate * (near_ns - self.since_ns))

    def near_ns(self, far_ns: int) -> int:
        """A time of the far clock, converted to the near one."""
        since_far_ns = far_ns - self.since_ns - self.offset_ns
        return self.since_ns + round(since_far_ns / (1 + self.rate))

    @property
    def native(self) -> tuple[int, int, float]:
        """The line as native code takes it."""
        return self.since_ns, self.offset_ns, self.rate


class Followed:
    """The difference over a run: lines that follow each other, each from its `since_ns` on."""

    def __init__(self, lines: Sequence[Difference], more_ns: int = 0) -> None:
        """`more_ns`: by how much more it may be wrong than its lines say."""
        self._lines = tuple(lines)
        later = self._lines[1:]
        self._from_near_ns = [each.since_ns for each in later]
        self._from_far_ns = [each.since_ns + each.offset_ns for each in later]
        self.bound_ns = max(each.bound_ns for each in self._lines) + more_ns
        """By how much it is wrong at most, from the begin of its first line to its last look."""

    @property
    def since_ns(self) -> int:
        """When its first line begins, by the near clock."""
        return self._lines[0].since_ns

    def far_ns(self, near_ns: int) -> int:
        """A time of the near clock, converted to the far one."""
        return self._lines[bisect_right(self._from_near_ns, near_ns)].far_ns(near_ns)

    def near_ns(self, far_ns: int) -> int:
        """A time of the far clock, converted to the near one."""
        return self._lines[bisect_right(self._from_far_ns, far_ns)].near_ns(far_ns)

    def strays_ns(self, line: Difference, from_ns: int, to_ns: int) -> int:
        """The most by which it differs from a line between two times of the near clock."""
        bends_ns = [each for each in self._from_near_ns if from_ns < each < to_ns]
        return max(
            abs(self.far_ns(each) - line.far_ns(each)) for each in (from_ns, *bends_ns, to_ns)
        )
