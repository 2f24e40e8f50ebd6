"""The answer: one plain sentence per load and runtime: which way won, by how much, how sure.

The first is picked on the data it is judged by. It has won only if its paired verdict against every
other way of its runtime is `faster`.
"""

from __future__ import annotations

from tinygram.bench.report.names import load_names
from tinygram.bench.report.outcomes import Standing, has_won, standings_of
from tinygram.bench.report.wording import (
    evidence_on,
    how_sure,
    joined,
    names,
    strategy,
    times,
    why_nothing,
)
from tinygram.bench.result import Result
from tinygram.bench.statistics.contests import Contest, contests_of
from tinygram.bench.statistics.loads import Load, is_limit

FIGURE_IN_WORDS = {"throughput_per_s": "", "latency_p50_us": " on median latency"}


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
    if not contest.others:
        return f"only {strategy(contest.ranked[0])} has figures, so nothing was compared"
    standings = standings_of(result, contest, contest.figure)
    outcome = _decided(contest, standings)
    if not contest.load.is_flat_out:
        tail = standings_of(result, contest, "latency_p99_us")
        outcome += f"; on p99 {_on_p99(contest, tail)}"
        standings += tail
    return outcome + how_sure(result, contest.ranked[0], standings)


def _decided(contest: Contest, standings: tuple[Standing, ...]) -> str:
    """Whether the first has won on the contest's figure; if not, against whom not, and why."""
    first, where = strategy(contest.ranked[0]), FIGURE_IN_WORDS[contest.figure]
    nodelay = _beaten_nodelay(contest, standings)
    if has_won(standings):
        against = [] if nodelay in (None, standings[0]) else [times(nodelay, "nodelay")]
        against.append(times(standings[0], f"the runner-up {strategy(standings[0].other)}"))
        return f"{first} won{where}: {' and '.join(against)}"
    slower, unsaid = _those(standings, "slower"), _those(standings, "cannot_say")
    if slower:
        what = f"{first} has the better median, {names(slower)} more rounds"
        return f"no clear winner{where}: {what} ({evidence_on(slower)})"
    if unsaid == standings:
        ahead = f"{first} was ahead of {strategy(contest.others[0])}"
        return f"cannot say which way won{where} ({ahead}): {evidence_on(unsaid)}"
    unbeaten = _those(standings, "no_difference_shown", "cannot_say")
    what = f"{joined([first, *(strategy(each.other) for each in unbeaten)])} cannot be told apart"
    beyond = f"; {first} is {times(nodelay, 'nodelay')}" if nodelay else ""
    return f"no clear winner{where}: {what} ({evidence_on(unbeaten)}){beyond}"


def _on_p99(contest: Contest, standings: tuple[Standing, ...]) -> str:
    """What p99 says of the way that is first by p50: the strongest that holds against any other."""
    first = strategy(contest.ranked[0])
    if has_won(standings):
        return f"{first} won"
    if slower := _those(standings, "slower"):
        return f"{first} is slower than {names(slower)}"
    if same := _those(standings, "no_difference_shown"):
        return f"{first} is not shown to differ from {names(same)}"
    return f"it cannot be said ({evidence_on(_those(standings, 'cannot_say'))})"


def _those(standings: tuple[Standing, ...], *verdicts: str) -> tuple[Standing, ...]:
    return tuple(each for each in standings if each.verdict.verdict in verdicts)


def _beaten_nodelay(contest: Contest, standings: tuple[Standing, ...]) -> Standing | None:
    """`nodelay` of the first's own implementation, where the first is faster and another."""
    implementation = contest.ranked[0].implementation
    if contest.ranked[0].strategy == "nodelay":
        return None
    for each in _those(standings, "faster"):
        if (each.other.implementation, each.other.strategy) == (implementation, "nodelay"):
            return each
    return None


def _unavailable(result: Result) -> dict[tuple[Load, str], str]:
    reasons: dict[tuple[Load, str], str] = {}
    for absent in result.plan.unavailable:
        if not is_limit(absent.case):
            reasons.setdefault((Load.of(absent.case), absent.case.runtime), absent.reason)
    return reasons
