"""The answer: one plain sentence per load and runtime: which way won, by how much, how sure.

The first is picked on the data it is judged by. It has won only if its paired verdict against every
other way of its runtime is `faster`.
"""

from __future__ import annotations

from tinygram_bench.model.result import Result
from tinygram_bench.report.external import against_ours
from tinygram_bench.report.names import load_names
from tinygram_bench.report.outcomes import Standing, has_won, standings_of
from tinygram_bench.report.wording import (
    ahead_of,
    evidence_on,
    how_sure,
    joined,
    names,
    strategy,
    why_nothing,
)
from tinygram_bench.statistics.contests import Contest, contests_of
from tinygram_bench.statistics.loads import Load, is_base, is_external, is_limit

WHERE = {"throughput_per_s": "", "latency_p50_us": " on median latency"}


def closing_sentences(result: Result) -> tuple[str, ...]:
    """One sentence per load and runtime, those that are unavailable last within their load."""
    outcomes = {
        (contest.load, contest.runtime): _outcome(result, contest)
        for contest in contests_of(result.summaries)
    }
    for key, reason in _unavailable(result).items():
        outcomes.setdefault(key, f"not measured: {reason.rstrip('.')}")
    said = tuple(
        f"{runtime}, {name}: {outcome}."
        for load, name in load_names(result).items()
        for (at, runtime), outcome in outcomes.items()
        if at == load
    )
    if said:
        return said
    if any(summary.rounds for summary in result.summaries):
        return ("Only limits were measured, which compete with nobody.",)
    return ("Nothing was measured.",)


def _outcome(result: Result, contest: Contest) -> str:
    if not contest.ranked:
        return why_nothing(result, contest)
    if is_external(contest.ranked[0]):
        return against_ours(result, contest)
    if not contest.others:
        return f"only {strategy(contest.ranked[0])} has figures, so nothing was compared"
    standings = standings_of(result, contest, contest.figure)
    outcome = _decided(contest, standings)
    if not contest.load.is_flat_out:
        tail = standings_of(result, contest, "latency_p99_us")
        outcome += f"; on p99 {_on_p99(contest, tail, outcome)}"
        standings += tail
    return outcome + how_sure(result, contest.ranked[0], standings)


def _decided(contest: Contest, standings: tuple[Standing, ...]) -> str:
    """How far the first is ahead of what people compare with, and if it has not won, why."""
    first, where = strategy(contest.ranked[0]), WHERE[contest.figure]
    usual = _beaten_usual(contest, standings)
    if has_won(standings):
        beaten = [(standings[0], f"the runner-up {strategy(standings[0].other)}")]
        if usual is not None and usual is not standings[0]:
            beaten.insert(0, (usual, strategy(usual.other)))
        return f"{first} won: it {ahead_of(contest, beaten)}"
    slower, unsaid = _those(standings, "slower"), _those(standings, "cannot_say")
    if slower:
        what = f"{first} has the better median, {names(slower)} more rounds"
        return f"no clear winner{where}: {what} ({evidence_on(slower)})"
    if unsaid == standings:
        ahead = f"{first} was ahead of {strategy(contest.others[0])}"
        return f"cannot say which way won{where} ({ahead}): {evidence_on(unsaid)}"
    unbeaten = _those(standings, "no_difference_shown", "cannot_say")
    others = [strategy(each.other) for each in unbeaten]
    if usual is not None:
        headline = f"{first} {ahead_of(contest, [(usual, strategy(usual.other))])}"
        return f"{headline}; it and {joined(others)} cannot be told apart ({evidence_on(unbeaten)})"
    what = f"{joined([first, *others])} cannot be told apart"
    return f"no clear winner{where}: {what} ({evidence_on(unbeaten)})"


def _on_p99(contest: Contest, standings: tuple[Standing, ...], on_p50: str) -> str:
    """What p99 says of the way that is first by p50: the strongest that holds against any other."""
    first = strategy(contest.ranked[0])
    if has_won(standings):
        return f"{first} won"
    if slower := _those(standings, "slower"):
        return f"{first} is slower than {names(slower)}"
    if same := _those(standings, "no_difference_shown"):
        return f"{first} is not shown to differ from {names(same)}"
    doubts = evidence_on(_those(standings, "cannot_say"))
    return f"it cannot be said ({'for the same reasons' if doubts in on_p50 else doubts})"


def _those(standings: tuple[Standing, ...], *verdicts: str) -> tuple[Standing, ...]:
    return tuple(each for each in standings if each.verdict.verdict in verdicts)


def _beaten_usual(contest: Contest, standings: tuple[Standing, ...]) -> Standing | None:
    """What people compare with, where the first is shown to be faster.

    `nodelay` of its own implementation, else by hand; of echo's servers, most of which are
    `nodelay`, the workload's base.
    """
    beaten = _those(standings, "faster")
    if contest.load.is_closed_loop:
        return next((each for each in beaten if is_base(each.other)), None)
    for implementation in (contest.ranked[0].implementation, "stdlib"):
        for each in beaten:
            if (each.other.implementation, each.other.strategy) == (implementation, "nodelay"):
                return each
    return None


def _unavailable(result: Result) -> dict[tuple[Load, str], str]:
    reasons: dict[tuple[Load, str], str] = {}
    for absent in result.plan.unavailable:
        if not is_limit(absent.case):
            reasons.setdefault((Load.of(absent.case), absent.case.runtime), absent.reason)
    return reasons
