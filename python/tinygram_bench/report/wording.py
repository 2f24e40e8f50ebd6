"""The parts that the sentences are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygram_bench.model.result import Case, Result
from tinygram_bench.report.formats import ratio, ratio_interval
from tinygram_bench.report.outcomes import Standing
from tinygram_bench.statistics.contests import Contest
from tinygram_bench.statistics.intervals import confidence_of
from tinygram_bench.statistics.loads import Load, way_of

MAX_EVIDENCE = 3
MAX_NAMED = 3


def strategy(case: Case) -> str:
    """The way without its runtime, which the sentence has named."""
    return way_of(case).removeprefix(f"{case.runtime}/")


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def listed(words: Sequence[str]) -> str:
    """All of them, or the first three and how many more there are."""
    more = len(words) - MAX_NAMED
    return joined([*words[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])])


def names(standings: Sequence[Standing]) -> str:
    """The others by their strategies."""
    return joined([strategy(each.other) for each in standings])


def ahead_of(contest: Contest, beaten: Sequence[tuple[Standing, str]]) -> str:
    """`sends 5.00 times as many messages as nodelay (4.90–5.10) and 2.00 times as many as cork …`.

    `beaten`: those that the first is ahead of, and what to call them.
    """
    verb = "echoes" if contest.load.is_closed_loop else "sends"
    first_form, next_form = {
        "throughput_per_s": (
            f"{verb} {{}} times as many messages as {{}}",
            "{} times as many as {}",
        ),
        "latency_p50_us": ("has {} times the median latency of {}", "{} times that of {}"),
    }[contest.figure]
    forms = [first_form, *(next_form for _ in beaten[1:])]
    return joined(
        [
            f"{form.format(ratio(found.median), name)} ({ratio_interval(found)})"
            for form, (standing, name) in zip(forms, beaten, strict=True)
            if (found := standing.verdict.ratio) is not None
        ]
    )


def evidence_on(standings: Sequence[Standing]) -> str:
    """Each ratio, or why there is no verdict: each kind of doubt once, and for whom else it is."""
    kinds: dict[str, dict[str, Case]] = {}
    for each in standings:
        text = _evidence(each)
        alike = kinds.setdefault(each.verdict.doubt or text, {})
        alike.setdefault(text, each.other)
    said = [_of_a_kind(alike) for alike in kinds.values()]
    more = len(said) - MAX_EVIDENCE
    return "; ".join(said[:MAX_EVIDENCE]) + (f"; and {more} more" if more > 0 else "")


def how_sure(result: Result, first: Case, standings: Sequence[Standing]) -> str:
    """The confidence of what was said: of the fewest rounds that two of the ways both finished."""
    said = [each.other for each in standings if each.verdict.verdict != "cannot_say"]
    if not said:
        return ""
    paired = min(paired_rounds(result, first.case_id, other.case_id) for other in said)
    return f", at {confidence(paired)}"


def paired_rounds(result: Result, *case_ids: str) -> int:
    """In how many rounds all of the cases finished."""
    rounds = [
        {run.round for run in result.runs if run.case_id == case_id and run.failure is None}
        for case_id in case_ids
    ]
    return len(set.intersection(*rounds))


def confidence(rounds: int) -> str:
    """`98.4% confidence from 7 rounds`."""
    return f"{confidence_of(rounds):.1%} confidence from {rounds} rounds"


def why_nothing(result: Result, contest: Contest) -> str:
    """Why no way of the contest has figures."""
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


def _of_a_kind(alike: Mapping[str, Case]) -> str:
    """The first text, and for whom there are others like it."""
    (first, _), *others = alike.items()
    ways = [way_of(case) for _, case in others]
    return first + (f", likewise for {listed(ways)}" if ways else "")


def _evidence(standing: Standing) -> str:
    verdict = standing.verdict
    if verdict.verdict == "cannot_say" or verdict.ratio is None:
        return verdict.reason or "no reason is known"
    spread = f"{ratio(verdict.ratio.median)}, {ratio_interval(verdict.ratio)}"
    return f"ratio to {strategy(standing.other)} {spread}"
