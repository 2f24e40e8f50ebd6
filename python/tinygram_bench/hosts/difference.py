"""The difference of two hosts' clocks."""

from __future__ import annotations

from tinygram_bench.model.value import Value

MOST_DRIFT = 1_500e-6
"""The most drift between two clocks: each may be set faster or slower by 500 ppm (adjtimex(2)), and
is wrong by less than 250 on its own. A difference that grows faster is a jump."""


class Difference(Value, frozen=True):
    """Far minus near is `offset_ns + rate × (near − since_ns)`, wrong by `bound_ns` at most."""

    since_ns: int
    offset_ns: int
    rate: float
    bound_ns: int

    def far_ns(self, near_ns: int) -> int:
        """A time of the near clock, converted to the far one."""
        return near_ns + self.offset_ns + round(self.rate * (near_ns - self.since_ns))

    def near_ns(self, far_ns: int) -> int:
        """A time of the far clock, converted to the near one."""
        since_far_ns = far_ns - self.since_ns - self.offset_ns
        return self.since_ns + round(since_far_ns / (1 + self.rate))

    def strays_ns(self, other: Difference, *near_ns: int) -> int:
        """The most by which it differs from another line at these times, and between them."""
        return max(abs(self.far_ns(each) - other.far_ns(each)) for each in near_ns)

    @property
    def native(self) -> tuple[int, int, float]:
        """The line as native code takes it."""
        return self.since_ns, self.offset_ns, self.rate
