"""What the answer says of a server that is not ours: how it stands against each of ours."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.model.result import Result
from tinygram_bench.report.outcomes import Standing
from tinygram_bench.report.wording import (
    MAX_NAMED,
    ahead_of,
    evidence_on,
    how_sure,
    listed,
    strategy,
)
from tinygram_bench.statistics.contests import Contest
from tinygram_bench.statistics.loads import is_base, is_limit, way_of

WORDS = {
    "slower": "is slower than ours",
    "faster": "is faster than ours",
    "no_difference_shown": "is not shown to differ from ours",
}


def against_ours(result: Result, contest: Contest) -> str:
    """The contest's first, on the contest's figure, against every server of ours under its load."""
    first = contest.ranked[0]
    cases = {case.case_id: case for case in result.plan.cases}
    standings = tuple(
        Standing(cases[verdict.baseline_case_id], verdict)
        for verdict in result.verdicts
        if (verdict.case_id, verdict.figure) == (first.case_id, contest.figure)
    )
    if not standings:
        return f"{strategy(first)} has figures, and none of ours was measured beside it"
    said = []
    for word, text in WORDS.items():
        those = [each for each in standings if each.verdict.verdict == word]
        if those:
            said.append(f"{text}: {_described(contest, those)}")
    unsaid = [each for each in standings if each.verdict.verdict == "cannot_say"]
    if unsaid:
        against = listed([way_of(each.other) for each in unsaid])
        said.append(f"cannot be set against {against} ({evidence_on(unsaid)})")
    return f"{strategy(first)} {'; '.join(said)}{how_sure(result, first, standings)}"


def _described(contest: Contest, standings: Sequence[Standing]) -> str:
    """`it echoes 0.27 times as many messages as …`: first against the base, then the closest."""

    def rank(standing: Standing) -> tuple[bool, float]:
        ratio = standing.verdict.ratio
        return not is_base(standing.other), 0.0 if ratio is None else abs(ratio.median - 1)

    ordered = sorted(standings, key=rank)
    told = ahead_of(contest, [(each, _named(each)) for each in ordered[:MAX_NAMED]])
    more = len(ordered) - MAX_NAMED
    return f"it {told}" + (f"; and {more} more" if more > 0 else "")


def _named(standing: Standing) -> str:
    limit = ", the limit" if is_limit(standing.other) else ""
    return f"{way_of(standing.other)}{limit}"
