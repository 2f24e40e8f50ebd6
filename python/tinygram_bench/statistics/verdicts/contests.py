"""Contests: which way came first on each runtime under each load, and against the others.

The winner is picked on the very rounds that it is judged by, so being first proves nothing: what
counts is its paired verdict against every other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tinygram_bench.model.result import Case, Figure, Result, Summary, Verdict
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.workloads.loads import Load, is_faulty, is_limit

NO_VERDICT = "the result holds no verdict on it"
Verdicts = Mapping[tuple[str, str, str], Verdict]
"""(baseline's case_id, case_id, figure) → verdict."""


class Contest(Struct, frozen=True):
    """The cases of one runtime under one load, the best first; those without a figure left out."""

    load: Load
    runtime: str
    figure: str
    ranked: tuple[Case, ...]

    @property
    def others(self) -> tuple[Case, ...]:
        """All but the first, which has won only if it is faster than each of them."""
        return self.ranked[1:]


def contests_of(summaries: Sequence[Summary]) -> tuple[Contest, ...]:
    """A contest per load and runtime, in order of first appearance, limits and faults left out."""
    groups: dict[tuple[Load, str], list[Summary]] = {}
    for summary in summaries:
        if not (is_limit(summary.case) or is_faulty(summary.case)):
            key = (Load.of(summary.case), summary.case.runtime)
            groups.setdefault(key, []).append(summary)
    return tuple(_contest(load, runtime, group) for (load, runtime), group in groups.items())


def _contest(load: Load, runtime: str, summaries: Sequence[Summary]) -> Contest:
    figure = load.compared_figures[0]
    measured = [(found, each.case) for each in summaries if (found := each.figures.get(figure))]

    def rank(entry: tuple[Figure, Case]) -> float:
        return -entry[0].median if is_higher_better(figure) else entry[0].median

    return Contest(load, runtime, figure, tuple(case for _, case in sorted(measured, key=rank)))


class Standing(Struct, frozen=True):
    """The first of a contest against one other way, on one figure."""

    other: Case
    verdict: Verdict


def standings_of(verdicts: Verdicts, contest: Contest, figure: str) -> tuple[Standing, ...]:
    """The first against each of the others, the best of them first."""
    return tuple(
        Standing(other, verdicts.get(key) or Verdict(*key, None, "cannot_say", NO_VERDICT))
        for other in contest.others
        for key in [(other.case_id, contest.ranked[0].case_id, figure)]
    )


def has_won(standings: tuple[Standing, ...]) -> bool:
    return bool(standings) and all(each.verdict.verdict == "faster" for each in standings)


def clear_winners(result: Result) -> tuple[Case, ...]:
    """The cases that are shown to beat every other way of their runtime under their load."""
    verdicts = verdicts_by_pair(result)
    return tuple(
        contest.ranked[0]
        for contest in contests_of(result.summaries)
        if has_won(standings_of(verdicts, contest, contest.figure))
    )


def verdicts_by_pair(result: Result) -> Verdicts:
    return {(each.baseline_case_id, each.case_id, each.figure): each for each in result.verdicts}
