"""Outcomes: how the first of a contest stands against every other way in it."""

from __future__ import annotations

from dataclasses import dataclass

from tinygram_bench.model.result import Case, Result, Verdict
from tinygram_bench.statistics.contests import Contest, contests_of

NO_VERDICT = "the result holds no verdict on it"


@dataclass(frozen=True)
class Standing:
    """The first of a contest against one other way, on one figure."""

    other: Case
    verdict: Verdict


def standings_of(result: Result, contest: Contest, figure: str) -> tuple[Standing, ...]:
    """The first against each of the others, the best of them first."""
    verdicts = verdicts_by_pair(result)
    return tuple(
        Standing(other, verdicts.get(key) or Verdict(*key, None, "cannot_say", NO_VERDICT))
        for other in contest.others
        for key in [(other.case_id, contest.ranked[0].case_id, figure)]
    )


def has_won(standings: tuple[Standing, ...]) -> bool:
    """Whether there are others and the first is faster than each."""
    return bool(standings) and all(each.verdict.verdict == "faster" for each in standings)


def clear_winners(result: Result) -> tuple[Case, ...]:
    """The cases that are shown to beat every other way of their runtime under their load."""
    return tuple(
        contest.ranked[0]
        for contest in contests_of(result.summaries)
        if has_won(standings_of(result, contest, contest.figure))
    )


def verdicts_by_pair(result: Result) -> dict[tuple[str, str, str], Verdict]:
    """(baseline's case_id, case_id, figure) → verdict."""
    return {(each.baseline_case_id, each.case_id, each.figure): each for each in result.verdicts}
