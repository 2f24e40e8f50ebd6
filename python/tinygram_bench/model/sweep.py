"""A sweep as a value: which parameter takes which values, chosen while the plan runs.

Law: the n-th cases of all points are the same but for the parameter's value, so that together they
are a curve; a case that belongs to no point has no such parameter, and runs in every step.
"""

from __future__ import annotations

from typing import Literal

from tinygram_bench.model.value import Value

Parameter = Literal["rate", "hold", "size", "rtt"]
"""In messages per second; ns in a buffer of ours; bytes of a message or request; ns of a link's
round trip."""


class Limit(Value, frozen=True):
    """The limit of a sweep: `figure`, a latency, is to stay below `below_us` microseconds."""

    figure: str
    below_us: float


class Point(Value, frozen=True):
    """A value of the parameter, and the cases that have it."""

    value: float
    case_ids: tuple[str, ...]


class Sweep(Value, frozen=True):
    """Values of `parameter` from `low` to `high`, step after step; each step has `rounds` rounds.

    `steps`: the points that each step adds. Those of the first step are spread evenly on a
    logarithmic scale; later ones are where the curve bends, the order of two ways changes, or the
    limit begins to fail. In a round the cases of its step run, and those that belong to no point.
    """

    parameter: Parameter
    low: float
    high: float
    rounds: int
    limit: Limit | None = None
    steps: tuple[tuple[Point, ...], ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for what no measurement makes, as a file may have it."""
        if self.rounds < 1:
            raise ValueError(f"a sweep of {self.rounds} rounds a step")

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, the lowest value first."""
        return tuple(
            sorted((each for step in self.steps for each in step), key=lambda point: point.value)
        )

    @property
    def swept_ids(self) -> frozenset[str]:
        """The cases that belong to a point."""
        return frozenset(id_ for point in self.points for id_ in point.case_ids)

    def step_of(self, round: int) -> int:
        """The number of the step that a round belongs to."""
        return min(round // self.rounds, len(self.steps) - 1)

    def rounds_of(self, point: Point) -> range:
        """The rounds in which the cases of a point run."""
        step = next(at for at, points in enumerate(self.steps) if point in points)
        return range(step * self.rounds, (step + 1) * self.rounds)

    def is_due(self, case_id: str, round: int) -> bool:
        """Whether a case runs in a round."""
        step = self.steps[self.step_of(round)]
        return case_id not in self.swept_ids or any(case_id in each.case_ids for each in step)
