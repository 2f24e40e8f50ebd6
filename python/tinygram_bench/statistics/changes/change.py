"""What comparing two results finds for a figure, and when a gate lets it pass."""

from __future__ import annotations

from math import inf
from typing import Literal

from msgspec import Struct

from tinygram_bench.model.result import Case, Figure
from tinygram_bench.statistics.one_way import Unknown

Kind = Literal["times", "counts"]
Shown = Literal["worse", "better", "not_shown", "cannot_say"]
Passed = Literal["fails", "passes", "cannot_say"]


class Change(Struct, frozen=True):
    """One figure of one case, before and after.

    `before`, `after`: the middle of the rounds (of times the geometric mean, of counts the median)
    between the least and the greatest of them; None: the result does not have the figure. `ratio`:
    after ÷ before, with its interval; None where there is none. `reason`: why it cannot be said
    whether the figure changed, even where there is a ratio; None where it can.
    `is_higher_better`: whether a ratio above 1 is an improvement. `bounds_us`: by how much the
    clocks of two hosts may be wrong in each result; 0: one clock timed it. `unknown`: why the
    figure of each result may not be shown for that reason.
    """

    case: Case
    figure: str
    kind: Kind
    before: Figure | None
    after: Figure | None
    ratio: Figure | None
    is_higher_better: bool = False
    reason: str | None = None
    bounds_us: tuple[float, float] = (0.0, 0.0)
    unknown: tuple[Unknown | None, Unknown | None] = (None, None)

    @property
    def shown(self) -> Shown:
        """What the interval shows."""
        if self.ratio is None or self.reason is not None:
            return "cannot_say"
        if self.ratio.low <= 1 <= self.ratio.high:
            return "not_shown"
        return "better" if (self.ratio.low > 1) == self.is_higher_better else "worse"

    @property
    def worsening(self) -> tuple[float, float]:
        """The factors by which the figure is worse at least and at most; below 1 it is better."""
        assert self.ratio is not None, "nothing is known of it"
        if self.is_higher_better:
            return 1 / self.ratio.high, 1 / self.ratio.low
        return self.ratio.low, self.ratio.high

    @property
    def sureness(self) -> float:
        """How far the nearer end of the interval lies from 1, as a factor: the key for sorting."""
        least, most = self.worsening
        return max(least, 1 / most if most else inf)

    def passed(self, most_share: float) -> Passed:
        """Whether the figure is shown to be worse by more than `most_share`, or shown not to be."""
        if self.shown == "cannot_say":
            return "cannot_say"
        least, most = self.worsening
        if least > 1 + most_share:
            return "fails"
        return "passes" if most <= 1 + most_share else "cannot_say"


def sorted_changes(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes, the surest and largest first, and last those of which nothing can be said."""
    known = [each for each in changes if each.shown != "cannot_say"]
    unknown = [each for each in changes if each.shown == "cannot_say"]
    return (*sorted(known, key=lambda each: -each.sureness), *unknown)
