"""How the rounds of a measurement follow each other: ending.py and sweeping.py have two ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tinygram_bench.model.result import Case, Ending, Plan, Run


class Course(Protocol):
    """It says which cases a round has, and when the rounds end; `ending` then says why.

    `plan`: so far, for it may grow. `most_rounds`, `most_runs`: the largest possible numbers;
    `may_end_early`: whether there may be fewer.
    """

    plan: Plan
    ending: Ending | None

    @property
    def most_rounds(self) -> int: ...

    @property
    def most_runs(self) -> int: ...

    @property
    def may_end_early(self) -> bool: ...

    def order(self, plan: Plan, round: int, finished: Sequence[Run], /) -> Iterable[Case]:
        """The cases of a round in their order; see `runs.rounds.Order`."""

    def is_over(self, round: int, runs: Sequence[Run]) -> bool:
        """Whether the plan ends there; see `runs.rounds.IsOver`.

        Raises UsageError where the next point of a sweep cannot be measured.
        """
