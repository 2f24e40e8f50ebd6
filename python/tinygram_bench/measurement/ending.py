"""The course of a plan whose cases are fixed: it may end before its last round (decision 0024).

With `until_share`, it looks after 8, 12, 18, 27 and 40 rounds whether every comparison is narrow
enough; the end of `max_time_ns` is the next look. Each look has its price: intervals are wider
(statistics/figures/intervals.py).
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from tinygram_bench.model.result import Ending, Plan, Run
from tinygram_bench.runs.rounds import Order, ordered
from tinygram_bench.statistics import summarise
from tinygram_bench.statistics.figures.intervals import LOOKS, confidence_of, figure_of, looks_of
from tinygram_bench.statistics.verdicts.comparison import first_ratios

Compared = Callable[[Plan, Sequence[Run]], Iterable[Sequence[float]]]
"""The ratios of each comparison, round by round."""


def compared(plan: Plan, runs: Sequence[Run]) -> Iterable[Sequence[float]]:
    return first_ratios(plan, summarise(plan, runs), runs)


class RoundTimes:
    """How long the rounds of this process take; the time begins with the first one."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began_s: float | None = None
        self._round_began_s = 0.0
        self._longest_s = 0.0

    def round_begins(self) -> None:
        """Note that a round begins, and that the one before it is over."""
        now_s = self._clock()
        if self._began_s is None:
            self._began_s = now_s
        else:
            self._longest_s = max(self._longest_s, now_s - self._round_began_s)
        self._round_began_s = now_s

    def is_late(self, max_time_ns: int | None) -> bool:
        """Whether the round that begins would end too late if it took as long as the longest."""
        if max_time_ns is None or self._began_s is None:
            return False
        passed_s = self._round_began_s - self._began_s
        return (passed_s + self._longest_s) * 1e9 > max_time_ns


class FixedCases:
    """The course of a plan whose cases stay: before each round it says whether the plan ends."""

    def __init__(
        self,
        plan: Plan,
        compared: Compared = compared,
        clock: Callable[[], float] = time.monotonic,
        order: Order = ordered,
    ) -> None:
        self.plan = plan
        self.ending: Ending | None = None
        self.order = order
        self._compared = compared
        self._times = RoundTimes(clock)

    @property
    def most_rounds(self) -> int:
        return self.plan.rounds

    @property
    def most_runs(self) -> int:
        return sum(len(self.plan.due(round)) for round in range(self.plan.rounds))

    @property
    def may_end_early(self) -> bool:
        """Whether the measurement may have fewer rounds than its plan says."""
        return self.plan.until_share is not None or self.plan.max_time_ns is not None

    def is_over(self, round: int, runs: Sequence[Run]) -> bool:
        """Whether the plan ends after this many rounds; see `IsOver`.

        The time begins with the first call: rounds of an earlier process do not count.
        """
        if not self.may_end_early:
            return False
        self._times.round_begins()
        if any(run.round >= round for run in runs):
            return False  # There are runs of later rounds already.
        is_late = self._times.is_late(self.plan.max_time_ns)
        cause: Literal["narrow", "time", "rounds"]
        if (round in LOOKS or is_late) and self._is_narrow(runs):
            cause = "narrow"
        elif round == self.plan.rounds:
            cause = "rounds"
        elif is_late:
            cause = "time"
        else:
            return False
        looks = looks_of(self.plan)
        made = 1 if looks == 1 else bisect_left(LOOKS, round) + 1
        self.ending = Ending(round, made, cause, confidence_of(round, looks))
        return True

    def _is_narrow(self, runs: Sequence[Run]) -> bool:
        """Whether there are comparisons, and all have rounds enough and are narrow enough."""
        share, looks = self.plan.until_share, looks_of(self.plan)
        if share is None:
            return False
        found = list(self._compared(self.plan, runs))
        return bool(found) and all(
            len(ratios) >= LOOKS[0] and figure_of(ratios, looks).half_width <= share
            for ratios in found
        )
