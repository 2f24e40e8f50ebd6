"""The answer: one plain sentence per load and runtime: which way won, by how much, how sure.

The winner is picked on the data it is judged by; what counts as sure is its paired interval against
the runner-up.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygram.bench.report.formats import ratio, ratio_interval
from tinygram.bench.report.names import load_names
from tinygram.bench.report.rows import verdicts_by_pair
from tinygram.bench.result import Case, Figure, Result
from tinygram.bench.statistics.contests import Contest, contests_of
from tinygram.bench.statistics.intervals import confidence_of
from tinygram.bench.statistics.loads import Load, is_limit, way_of

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
    return said or ("Nothing was measured.",)


def _outcome(result: Result, contest: Contest) -> str:
    if not contest.ranked:
        return _why_nothing(result, contest)
    if len(contest.ranked) == 1:
        return f"only {_strategy(contest.ranked[0])} has figures, so nothing was compared"
    winner, runner_up = contest.ranked[:2]
    verdict = verdicts_by_pair(result).get((runner_up.case_id, winner.case_id, contest.figure))
    first, second = _strategy(winner), _strategy(runner_up)
    if verdict is None or verdict.ratio is None or verdict.verdict == "cannot_say":
        reason = verdict.reason if verdict else "the result holds no verdict on it"
        return f"cannot say which way won ({first} was ahead of {second}): {reason}"
    sure = _how_sure(result, winner, runner_up)
    spread = f"ratio {ratio(verdict.ratio.median)}, {ratio_interval(verdict.ratio)}"
    if verdict.verdict == "faster":
        against = " and ".join(
            (*_against_nodelay(result, contest), _against(verdict.ratio, second))
        )
        return f"{first} won{FIGURE_IN_WORDS[contest.figure]}: {against}, {sure}"
    if verdict.verdict == "slower":
        return f"no clear winner: {first} has the better median, {second} more rounds ({spread})"
    beyond = "".join(f"; {first} is {each}" for each in _against_nodelay(result, contest))
    return f"no clear winner: {first} and {second} cannot be told apart ({spread}){beyond}, {sure}"


def _against(found: Figure, second: str) -> str:
    return f"{ratio(found.median)} × the runner-up {second} ({ratio_interval(found)})"


def _against_nodelay(result: Result, contest: Contest) -> Iterator[str]:
    """The winner beside `nodelay` of its own kind, unless that is the winner or the runner-up."""
    winner = contest.ranked[0]
    for case in contest.ranked[2:]:
        is_own = case.implementation == winner.implementation and case.strategy == "nodelay"
        key = (case.case_id, winner.case_id, contest.figure)
        verdict = verdicts_by_pair(result).get(key)
        if is_own and verdict is not None and verdict.ratio is not None:
            unsure = "" if verdict.verdict in ("faster", "slower") else ", not sure"
            spread = ratio_interval(verdict.ratio)
            yield f"{ratio(verdict.ratio.median)} × nodelay ({spread}{unsure})"


def _how_sure(result: Result, winner: Case, runner_up: Case) -> str:
    """The confidence of an interval from the rounds that both cases finished."""
    good = {
        case.case_id: {
            run.round for run in result.runs if run.case_id == case.case_id and run.failure is None
        }
        for case in (winner, runner_up)
    }
    paired = len(good[winner.case_id] & good[runner_up.case_id])
    return f"at {confidence_of(paired):.1%} confidence from {paired} rounds"


def _why_nothing(result: Result, contest: Contest) -> str:
    cases = {each.case_id for each in result.plan.cases if _belongs(each, contest)}
    runs = [run for run in result.runs if run.case_id in cases]
    failure = next((run.failure for run in runs if run.failure is not None), None)
    if not runs:
        return "nothing ran"
    return f"every run failed, the first with: {failure}" if failure else "no run has figures"


def _belongs(case: Case, contest: Contest) -> bool:
    return case.runtime == contest.runtime and Load.of(case) == contest.load


def _unavailable(result: Result) -> dict[tuple[Load, str], str]:
    reasons: dict[tuple[Load, str], str] = {}
    for absent in result.plan.unavailable:
        if not is_limit(absent.case):
            reasons.setdefault((Load.of(absent.case), absent.case.runtime), absent.reason)
    return reasons


def _strategy(case: Case) -> str:
    """The way without its runtime, which the sentence has named."""
    return way_of(case).removeprefix(f"{case.runtime}/")
