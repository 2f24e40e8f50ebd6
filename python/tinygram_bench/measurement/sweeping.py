"""A sweep: a plan that grows while it runs (decision 0032).

Laws: the next points follow from the plan and the runs alone, so that a measurement resumed with
`--resume` goes on as if it had not been interrupted; a point is measured in the rounds of one step,
all its ways beside each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace

from tinygram_bench.measurement.ending import RoundTimes
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Ending, Plan, Run
from tinygram_bench.model.sweep import Limit, Parameter, Point, Sweep
from tinygram_bench.runs.rounds import ordered
from tinygram_bench.statistics.figures.intervals import confidence_of
from tinygram_bench.statistics.sweeps.choice import MOST_POINTS, Seen, first_values, next_values
from tinygram_bench.statistics.sweeps.seeing import seen_in

PlanAt = Callable[[float], Plan]
"""The plan whose cases have this value of the parameter. Raises UsageError."""


class Sweeping:
    """The plan of a sweep so far; `ending` says why it has no more points.

    `plan_at` gives the same cases for every value, apart from the value itself.
    """

    def __init__(
        self,
        asked: Sweep,
        plan_at: PlanAt,
        max_time_ns: int | None = None,
        *,
        see: Callable[[Plan, Sequence[Run]], Seen] = seen_in,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with the first points. Raises UsageError where no way has the parameter."""
        self._plan_at = plan_at
        self._see = see
        self._times = RoundTimes(clock)
        self.ending: Ending | None = None
        empty = replace(plan_at(asked.low), cases=(), max_time_ns=max_time_ns, sweep=asked)
        self.plan = self._with(empty, first_values(asked.low, asked.high))

    @property
    def most_rounds(self) -> int:
        """The largest possible number of rounds: each step adds at least one point."""
        sweep = self._sweep
        first = len(first_values(sweep.low, sweep.high))
        return sweep.rounds * (1 + max(0, MOST_POINTS - first))

    @property
    def most_runs(self) -> int:
        """The largest possible number of runs."""
        sweep = self._sweep
        of_a_point = len(sweep.points[0].case_ids)
        references = len(self.plan.cases) - len(sweep.swept_ids)
        most_steps = self.most_rounds // sweep.rounds
        return sweep.rounds * (of_a_point * MOST_POINTS + references * most_steps)

    @property
    def may_end_early(self) -> bool:
        """Where the curve bends nowhere, there are fewer points than there may be."""
        return True

    def go_on(self, earlier: Plan) -> None:
        """Go on with the plan of an earlier process, which has all the points of this one."""
        self.plan = earlier

    def order(self, _plan: Plan, round: int, _finished: Sequence[Run]) -> list[Case]:
        """The cases of a round in a random order, which is the same for the same seed."""
        return ordered(self.plan, round)

    def is_over(self, round: int, runs: Sequence[Run]) -> bool:
        """Whether the sweep ends after this many rounds; where a step ends, the next one is added.

        The time is judged as with any `--max-time` (ending.py).
        """
        self._times.round_begins()
        if any(run.round >= round for run in runs):
            return False  # There are runs of later rounds already.
        if round == self.plan.rounds:
            values = next_values(self._see(self.plan, runs))
            if not values:
                return self._ended(round, "points")
            if self._times.is_late(self.plan.max_time_ns):
                return self._ended(round, "time")
            self.plan = self._with(self.plan, values)
        elif self._times.is_late(self.plan.max_time_ns):
            return self._ended(round, "time")
        return False

    @property
    def _sweep(self) -> Sweep:
        assert self.plan.sweep is not None, "it is a sweep's"
        return self.plan.sweep

    def _ended(self, round: int, cause: Literal["points", "time"]) -> bool:
        known = confidence_of(min(round, self._sweep.rounds))
        self.ending = Ending(round, 1, cause, known)
        return True

    def _with(self, plan: Plan, values: Sequence[float]) -> Plan:
        """The plan with one more step."""
        sweep = plan.sweep
        assert sweep is not None, "it is a sweep's"
        made = {value: self._plan_at(value).cases for value in values}
        seen = {case.case_id: case for case in plan.cases}
        if not seen:
            first, *others = [{case.case_id for case in cases} for cases in made.values()]
            references = first.intersection(*others)
        else:
            references = seen.keys() - sweep.swept_ids
        step = tuple(
            Point(value, tuple(case.case_id for case in cases if case.case_id not in references))
            for value, cases in made.items()
        )
        if not all(point.case_ids for point in step):
            raise UsageError(
                f"--sweep {sweep.parameter}: no way that was asked for has it; name one that has"
            )
        for cases in made.values():
            seen |= {case.case_id: case for case in cases if case.case_id not in seen}
        grown = replace(sweep, steps=(*sweep.steps, step))
        rounds = sweep.rounds * len(grown.steps)
        return replace(plan, cases=tuple(seen.values()), rounds=rounds, sweep=grown)


def asked_alike(one: Sweep, other: Sweep) -> bool:
    """Whether both were asked for with the same words."""

    def asked(sweep: Sweep) -> tuple[Parameter, float, float, int, Limit | None]:
        return sweep.parameter, sweep.low, sweep.high, sweep.rounds, sweep.limit

    return asked(one) == asked(other) and one.steps[:1] == other.steps[:1]
