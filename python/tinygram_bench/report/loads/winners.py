"""The answer, one plain sentence per load and runtime: which way won, by how much, how sure.

The first way is picked on the data by which it is judged. It has won only if its paired verdict
against every other way of its runtime is `faster`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygram_bench.model.result import Case, Result
from tinygram_bench.report.numbers import percent_at_most, ratio_of, spread_of
from tinygram_bench.report.prose import (
    MAX_NAMED,
    confidence,
    first_of,
    joined,
    listed,
    load_names,
    paired_rounds,
)
from tinygram_bench.statistics.figures.intervals import looks_of
from tinygram_bench.statistics.figures.words import rounded_up
from tinygram_bench.statistics.one_way import bound_on
from tinygram_bench.statistics.verdicts.contests import (
    Contest,
    Standing,
    Verdicts,
    contests_of,
    has_won,
    standings_of,
    verdicts_by_pair,
)
from tinygram_bench.statistics.workloads.loads import Load, is_base, is_external, is_limit, way_of

_MOST_EQUAL = 0.5
"""Ways that may be further apart than this share are not called equal."""
_WHERE = {
    "throughput_per_s": "",
    "latency_p50_us": " on median latency",
    "round_trip_p50_us": " on the median round trip",
}
_AGAINST_OURS = {
    "slower": "is slower than ours",
    "faster": "is faster than ours",
    "no_difference_shown": "is not shown to differ from ours",
}


def closing_sentences(result: Result) -> tuple[str, ...]:
    """One sentence per load and runtime, the unavailable ones last within their load."""
    verdicts = verdicts_by_pair(result)
    outcomes = {
        (contest.load, contest.runtime): _outcome(result, verdicts, contest)
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


def named_pairs(result: Result) -> frozenset[tuple[str, str]]:
    """(baseline, case) for the first of each contest, against what people usually compare with.

    Where it is not shown to be faster than that, the baseline is the next way that it beats.
    """
    pairs, verdicts = set(), verdicts_by_pair(result)
    for contest in contests_of(result.summaries):
        if contest.others:
            standings = standings_of(verdicts, contest, contest.figure)
            beaten = _beaten_usual(contest, standings) or next(
                iter(_those(standings, "faster")), None
            )
            if beaten is not None:
                pairs.add((beaten.other.case_id, contest.ranked[0].case_id))
    return frozenset(pairs)


def _outcome(result: Result, verdicts: Verdicts, contest: Contest) -> str:
    if not contest.ranked:
        return _why_nothing(result, contest)
    if is_external(contest.ranked[0]):
        return _against_ours(result, contest)
    if not contest.others:
        loads = {Load.of(each.case) for each in result.summaries if is_limit(each.case)}
        limit = " (apart from the limit)" if contest.load in loads else ""
        return f"only {_strategy(contest.ranked[0])} has figures{limit}, so nothing was compared"
    standings = standings_of(verdicts, contest, contest.figure)
    outcome = _decided(contest, standings)
    if not contest.load.is_flat_out:
        tail = standings_of(verdicts, contest, contest.figure.replace("_p50_", "_p99_"))
        outcome += f"; on p99 {_on_p99(contest, tail, outcome)}"
        standings += tail
    sure = _how_sure(result, contest.ranked[0], standings)
    return outcome + sure + (_clocks(result, contest) if sure else "")


def _clocks(result: Result, contest: Contest) -> str:
    """What the clocks of two hosts may be wrong by, which is in the intervals of the ratios."""
    ranked = {case.case_id for case in contest.ranked}
    bounds_us = [
        bound_on(summary.figures, contest.figure) or 0.0
        for summary in result.summaries
        if summary.case.case_id in ranked
    ]
    if not any(bounds_us):
        return ""
    wrong_us = rounded_up(max(bounds_us))
    return f"; these intervals hold what the clocks of the two hosts may be wrong by, {wrong_us} µs"


def _decided(contest: Contest, standings: tuple[Standing, ...]) -> str:
    """How far the first is ahead of what people usually compare with; if it has not won, why."""
    first, where = _strategy(contest.ranked[0]), _WHERE[contest.figure]
    usual = _beaten_usual(contest, standings)
    if has_won(standings):
        beaten = [(standings[0], f"the runner-up {_strategy(standings[0].other)}")]
        if usual is not None and usual is not standings[0]:
            beaten.insert(0, (usual, _strategy(usual.other)))
        return f"{first} won: it {_ahead_of(contest, beaten)}"
    slower, unsaid = _those(standings, "slower"), _those(standings, "cannot_say")
    if slower:
        what = f"{first} has the better median, {_names(slower)} more rounds"
        return f"no clear winner{where}: {what} ({_evidence_on(slower)})"
    if unsaid == standings:
        ahead = f"{first} was ahead of {_strategy(contest.others[0])}"
        return f"cannot say which way won{where} ({ahead}): {_evidence_on(unsaid)}"
    unbeaten = _those(standings, "no_difference_shown", "cannot_say")
    others = [_strategy(each.other) for each in unbeaten]
    if usual is not None:
        headline = f"{first} {_ahead_of(contest, [(usual, _strategy(usual.other))])}"
        return f"{headline}; it and {joined(others)} {_alike(unbeaten)}"
    what = f"{joined([first, *others])} {_alike(unbeaten)}"
    return f"no clear winner{where}: {what}"


def _alike(standings: Sequence[Standing]) -> str:
    """Within what share the first and these are equal, by the farthest end of a ratio's interval.

    Ways that may be too far apart are not called equal.
    """
    ratios = [each.verdict.ratio for each in standings if each.verdict.verdict != "cannot_say"]
    ends = [end for found in ratios if found is not None for end in (found.low, found.high)]
    if len(ends) < 2 * len(standings):
        return f"cannot be told apart ({_evidence_on(standings)})"
    farthest, evidence = max(abs(end - 1) for end in ends), _evidence_on(standings)
    apart = percent_at_most(farthest)
    if farthest <= _MOST_EQUAL:
        return f"are equal within {apart} ({evidence})"
    return f"cannot be told apart: they may be up to {apart} apart ({evidence})"


def _on_p99(contest: Contest, standings: tuple[Standing, ...], on_p50: str) -> str:
    """The strongest statement by p99 on the way that is first by p50, against the others."""
    first = _strategy(contest.ranked[0])
    if has_won(standings):
        return f"{first} won"
    if slower := _those(standings, "slower"):
        return f"{first} is slower than {_names(slower)}"
    if same := _those(standings, "no_difference_shown"):
        return f"{first} is not shown to differ from {_names(same)}"
    doubts = _evidence_on(_those(standings, "cannot_say"))
    return f"it cannot be said ({'for the same reasons' if doubts in on_p50 else doubts})"


def _those(standings: tuple[Standing, ...], *verdicts: str) -> tuple[Standing, ...]:
    return tuple(each for each in standings if each.verdict.verdict in verdicts)


def _beaten_usual(contest: Contest, standings: tuple[Standing, ...]) -> Standing | None:
    """The first against what people usually compare with, if it is shown to be faster.

    That is `nodelay` of its own implementation, or else by hand; for echo's servers, most of which
    are `nodelay`, it is the workload's base.
    """
    beaten = _those(standings, "faster")
    if contest.load.is_closed_loop:
        return next((each for each in beaten if is_base(each.other)), None)
    for implementation in (contest.ranked[0].implementation, "stdlib"):
        for each in beaten:
            if (each.other.implementation, each.other.strategy) == (implementation, "nodelay"):
                return each
    return None


def _against_ours(result: Result, contest: Contest) -> str:
    """An external server, first of its contest, against every server of ours under its load."""
    first = contest.ranked[0]
    cases = {case.case_id: case for case in result.plan.cases}
    standings = tuple(
        Standing(cases[verdict.baseline_case_id], verdict)
        for verdict in result.verdicts
        if (verdict.case_id, verdict.figure) == (first.case_id, contest.figure)
    )
    if not standings:
        return f"{_strategy(first)} has figures, and none of ours was measured beside it"
    said = [
        f"{text}: {_described(contest, those)}"
        for verdict, text in _AGAINST_OURS.items()
        if (those := _those(standings, verdict))
    ]
    if unsaid := _those(standings, "cannot_say"):
        against = listed([way_of(each.other) for each in unsaid])
        said.append(f"cannot be set against {against} ({_evidence_on(unsaid)})")
    return f"{_strategy(first)} {'; '.join(said)}{_how_sure(result, first, standings)}"


def _described(contest: Contest, standings: Sequence[Standing]) -> str:
    """`it echoes 0.27 times as many messages as …`: against the base first, then the closest."""

    def rank(standing: Standing) -> tuple[bool, float]:
        ratio = standing.verdict.ratio
        return not is_base(standing.other), 0.0 if ratio is None else abs(ratio.median - 1)

    ordered = sorted(standings, key=rank)
    closest = [
        (each, way_of(each.other) + (", the limit" if is_limit(each.other) else ""))
        for each in ordered[:MAX_NAMED]
    ]
    more = len(ordered) - MAX_NAMED
    return f"it {_ahead_of(contest, closest)}" + (f"; and {more} more" if more > 0 else "")


def _unavailable(result: Result) -> dict[tuple[Load, str], str]:
    reasons: dict[tuple[Load, str], str] = {}
    for absent in result.plan.unavailable:
        if not is_limit(absent.case):
            reasons.setdefault((Load.of(absent.case), absent.case.runtime), absent.reason)
    return reasons


def _why_nothing(result: Result, contest: Contest) -> str:
    cases = {
        case.case_id
        for case in result.plan.cases
        if case.runtime == contest.runtime and Load.of(case) == contest.load
    }
    runs = [run for run in result.runs if run.case_id in cases]
    failure = next((run.failure for run in runs if run.failure is not None), None)
    if not runs:
        return "nothing ran"
    return f"every run failed, the first with: {failure}" if failure else "no run has figures"


def _ahead_of(contest: Contest, beaten: Sequence[tuple[Standing, str]]) -> str:
    """`sends 5.00 times as many messages as nodelay (4.90–5.10) and 2.00 times as many as cork …`.

    `beaten`: the standings in which the first is ahead, and the names of the others. Where there
    are two modes: `sends 7.62–11.5 times as many messages as nodelay (two modes)`.
    """
    verb = "echoes" if contest.load.is_closed_loop else "sends"
    first_form, next_form = {
        "throughput_per_s": (
            f"{verb} {{}} times as many messages as {{}}",
            "{} times as many as {}",
        ),
        "latency_p50_us": ("has {} times the median latency of {}", "{} times that of {}"),
        "round_trip_p50_us": ("has {} times the median round trip of {}", "{} times that of {}"),
    }[contest.figure]
    forms = [first_form, *(next_form for _ in beaten[1:])]
    return joined(
        [
            f"{form.format(ratio_of(standing.verdict), name)} ({spread_of(standing.verdict)})"
            for form, (standing, name) in zip(forms, beaten, strict=True)
            if standing.verdict.ratio is not None
        ]
    )


def _evidence_on(standings: Sequence[Standing]) -> str:
    """Each ratio, or why there is no verdict: each kind of doubt once, with ways that share it."""
    kinds: dict[str, dict[str, Case]] = {}
    for each in standings:
        text = _evidence(each)
        doubt = each.verdict.doubt if each.verdict.verdict == "cannot_say" else None
        alike = kinds.setdefault(doubt or text, {})
        alike.setdefault(text, each.other)
    return first_of([_of_a_kind(alike) for alike in kinds.values()])


def _of_a_kind(alike: Mapping[str, Case]) -> str:
    """The first text, and the other ways that have one of the same kind."""
    (first, _), *others = alike.items()
    ways = [way_of(case) for _, case in others]
    return first + (f", likewise for {listed(ways)}" if ways else "")


def _evidence(standing: Standing) -> str:
    verdict = standing.verdict
    if verdict.verdict == "cannot_say" or verdict.ratio is None:
        return verdict.reason or "no reason is known"
    return f"ratio to {_strategy(standing.other)} {ratio_of(verdict)}, {spread_of(verdict)}"


def _how_sure(result: Result, first: Case, standings: Sequence[Standing]) -> str:
    """The confidence of the answer, by the fewest rounds that two of the ways both finished."""
    said = [each.other.case_id for each in standings if each.verdict.verdict != "cannot_say"]
    if not said:
        return ""
    paired = paired_rounds(result, first.case_id, *said)
    return f", at {confidence(paired, looks_of(result.plan))}"


def _strategy(case: Case) -> str:
    """The way without its runtime, which the sentence has already named."""
    return way_of(case).removeprefix(f"{case.runtime}/")


def _names(standings: Sequence[Standing]) -> str:
    return joined([_strategy(each.other) for each in standings])
