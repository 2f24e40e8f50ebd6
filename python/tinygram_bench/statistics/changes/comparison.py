"""Two results compared as a whole: what changed, and what a gate says of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tinygram_bench.model.result import Case, Result
from tinygram_bench.statistics.changes.change import Change, Kind, Passed, sorted_changes
from tinygram_bench.statistics.changes.comparable import (
    Difference,
    common_cases,
    hindrances,
    other_differences,
)
from tinygram_bench.statistics.changes.counts import count_changes
from tinygram_bench.statistics.changes.times import time_changes
from tinygram_bench.statistics.workloads.loads import case_names

Gate = Literal["times", "counts", "both"]
KINDS: dict[str, tuple[Kind, ...]] = {
    "times": ("times",),
    "counts": ("counts",),
    "both": ("times", "counts"),
}


class Failing(Struct, frozen=True):
    """A case that failed in every round after, and not before; `failure`: its first failure."""

    case: Case
    rounds: int
    failure: str


class Comparison(Struct, frozen=True):
    """What differs between two results.

    `changes`: the surest first. `hindrances`: what makes them incomparable; `others`: what else
    differs in their environments. `only_before`, `only_after`: cases that the other result lacks.
    `failing`: cases that fail now, which no figure shows. `names`: case id → what the case is
    called here.
    """

    changes: tuple[Change, ...]
    failing: tuple[Failing, ...]
    hindrances: tuple[Difference, ...]
    others: tuple[Difference, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    common: int
    names: dict[str, str]

    def gated(self, gate: Gate, most_share: float) -> dict[Passed, tuple[Change, ...]]:
        """The changes of the gate's kinds, by whether they are worse by more than `most_share`."""
        found: dict[Passed, list[Change]] = {"fails": [], "passes": [], "cannot_say": []}
        for change in self.changes:
            if change.kind in KINDS[gate]:
                found[change.passed(most_share)].append(change)
        return {passed: tuple(changes) for passed, changes in found.items()}


def compare_results(before: Result, after: Result, gate: Gate = "both") -> Comparison:
    """Compare the cases that both results have, by times, counts or both."""
    cases = common_cases(before, after)
    changes: tuple[Change, ...] = ()
    has_times = "times" in KINDS[gate]
    if has_times:
        changes += time_changes(before, after, cases)
    if "counts" in KINDS[gate]:
        changes += count_changes(before, after, cases)
    common = {case.case_id for case in cases}
    earlier, later = ([case.case_id for case in each.plan.cases] for each in (before, after))
    return Comparison(
        changes=sorted_changes(changes),
        failing=tuple(_failing(before, after, cases)),
        hindrances=hindrances(before, after, has_times=has_times),
        others=other_differences(before, after, has_times=has_times),
        only_before=tuple(name for name in earlier if name not in common),
        only_after=tuple(name for name in later if name not in common),
        common=len(common),
        names=case_names(cases),
    )


def _failing(before: Result, after: Result, cases: Sequence[Case]) -> Iterator[Failing]:
    """The cases with a good round before, and only failed rounds after."""
    for case in cases:
        earlier, later = (
            [run.failure for run in result.runs if run.case_id == case.case_id]
            for result in (before, after)
        )
        failures = [failure for failure in later if failure is not None]
        if None in earlier and failures and None not in later:
            yield Failing(case, len(failures), failures[0])
