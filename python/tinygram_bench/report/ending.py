"""A sentence on how a measurement ended whose number of rounds was not fixed."""

from __future__ import annotations

from collections.abc import Iterator

from tinygram_bench.model.result import Ending, Plan, Result, Verdict
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.report.numbers import percent_at_most
from tinygram_bench.report.prose import joined
from tinygram_bench.statistics.figures.intervals import LOOKS
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.verdicts.doubts import MIN_PAIRED_ROUNDS
from tinygram_bench.statistics.workloads.loads import Load


def ending_told(result: Result) -> Iterator[str]:
    """When and why it ended, and how well comparisons are known; nothing if all was as usual.

    `Ended after 12 rounds (look 2 of 5): every comparison of throughput is known to within 2%, at
    95.4% confidence.`
    """
    ending, plan = result.ending, result.plan
    if ending is None or (ending.cause in ("rounds", "points") and plan.until_share is None):
        return
    found = ""
    if ending.rounds < MIN_PAIRED_ROUNDS:
        found = f": verdicts need {MIN_PAIRED_ROUNDS} rounds"
    elif plan.until_share is not None:
        found = _how_narrow(result, ending, plan.until_share)
    yield f"Ended {_when(ending, plan)}{found}."


def _when(ending: Ending, plan: Plan) -> str:
    """`after 9 rounds (look 2 of 5), as another would not have fitted into --max-time 120s`."""
    rounds = "1 round" if ending.rounds == 1 else f"{ending.rounds} rounds"
    if plan.until_share is None:
        rounds = f"{ending.rounds} of {plan.rounds} rounds"
        if plan.sweep is not None:
            rounds = f"{len(plan.sweep.points)} points ({ending.rounds} rounds)"
    else:
        rounds += f" (look {ending.looks} of {len(LOOKS)})"
    if ending.cause == "time" and plan.max_time_ns is not None:
        limit = format_duration_ns(plan.max_time_ns)
        return f"after {rounds}, as another would not have fitted into --max-time {limit}"
    return f"after {rounds}"


def _how_narrow(result: Result, ending: Ending, share: float) -> str:
    asked = f"{share * 100:.4g}%"
    figures, verdicts = _compared(result)
    sure = f"at {ending.confidence:.1%} confidence"
    sized = [each for each in verdicts if not each.has_no_size]
    but = ", but for those with two modes," if len(sized) < len(verdicts) else ""
    if ending.cause == "narrow":
        return f": every comparison of {figures}{but} is known to within {asked}, {sure}"
    widths = [each.ratio.half_width for each in sized if each.ratio is not None]
    if not widths:
        return f": {'all comparisons have two modes' if but else 'nothing could be compared'}"
    known = f"known to within {percent_at_most(max(widths))}, and {asked} was asked for"
    return f": comparisons of {figures}{but} are {known}, {sure}"


def _compared(result: Result) -> tuple[str, list[Verdict]]:
    """The first figures that are compared, in words, and the verdicts on them."""
    firsts = {case.case_id: Load.of(case).compared_figures[0] for case in result.plan.cases}
    named = joined([in_words(figure) for figure in dict.fromkeys(firsts.values())])
    return named, [each for each in result.verdicts if each.figure == firsts[each.case_id]]
