"""Verdicts: how a case compares with a baseline, round by round.

The two values of a ratio come from the same round, minutes apart at most, so that what drifts over
the experiment (heat, neighbours) cancels out. Between two hosts its interval also holds what the
clocks may be wrong by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Literal

from tinygram_bench.model.result import Case, Figure, Plan, Run, Summary, Verdict
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.runs import is_higher_better
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.verdicts.clocks import clocks_doubt, nothing_doubt, with_clocks
from tinygram_bench.statistics.verdicts.contests import contests_of
from tinygram_bench.statistics.verdicts.doubts import (
    Doubt,
    cycle_ratios,
    doubt_on,
    is_known,
    took_turns_together,
)
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.loads import (
    Load,
    is_base,
    is_external,
    is_faulty,
    is_limit,
    server_of,
)


def compare(plan: Plan, summaries: Sequence[Summary], runs: Sequence[Run]) -> tuple[Verdict, ...]:
    """Every verdict, each one once, on the pairs that are compared.

    The workload names these pairs; where it names none, they are each case with `nodelay` of its
    runtime and implementation, and with the workload's base; the first of each runtime with every
    other way of that runtime; and each server that is not ours with all that are.

    `summaries` are those of `summarise(plan, runs)`. Raises what `samples_of` raises.
    """
    samples = samples_of(plan, runs)
    summary_of = {summary.case.case_id: summary for summary in summaries}
    return tuple(
        verdict_on(
            figure, (summary_of[baseline], samples[baseline]), (summary_of[id_], samples[id_])
        )
        for (baseline, id_), figures in _pairs(plan, summaries).items()
        for figure in figures
    )


def has_comparisons(plan: Plan) -> bool:
    """Whether any two cases of the plan are compared, if they have figures."""
    contestants = Counter(
        (Load.of(case), case.runtime)
        for case in plan.cases
        if WORKLOADS[case.workload].pairs is None and not (is_limit(case) or is_faulty(case))
    )
    return bool(_pairs(plan, ())) or any(count > 1 for count in contestants.values())


def first_ratios(
    plan: Plan, summaries: Sequence[Summary], runs: Sequence[Run]
) -> tuple[tuple[float, ...], ...]:
    """For every pair of `compare`, case ÷ baseline of each round, on the first figure alone.

    Pairs without that figure are left out.
    """
    samples = samples_of(plan, runs)
    found = (
        round_ratios(samples[baseline], samples[id_], figures[0])
        for (baseline, id_), figures in _pairs(plan, summaries).items()
    )
    return tuple(ratios for ratios in found if ratios)


def _pairs(plan: Plan, summaries: Sequence[Summary]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """(baseline, case) → the figures that they are compared on."""
    loads = {case.case_id: Load.of(case) for case in plan.cases}
    found: list[tuple[str, str]] = []
    for name in dict.fromkeys(case.workload for case in plan.cases):
        cases = [case for case in plan.cases if case.workload == name]
        named = WORKLOADS[name].pairs
        if named is not None:
            found += named(cases)
        else:
            found += _baseline_pairs(cases)
            found += _external_pairs(cases)
            found += _first_pairs([each for each in summaries if each.case.workload == name])
    return {pair: loads[pair[1]].compared_figures for pair in found}


def paired_ratios(baseline: Mapping[int, float], case: Mapping[int, float]) -> tuple[float, ...]:
    """case ÷ baseline of each round that has both, in round order; rounds of 0 are left out."""
    return tuple(case[each] / baseline[each] for each in case if baseline.get(each))


def round_ratios(baseline: Sample, case: Sample, figure: str) -> tuple[float, ...]:
    """case ÷ baseline of each round that has both, in round order.

    Where both took turns, a round's ratio is the median of the ratios of their slices, or samples,
    cycle by cycle: what is compared then lies milliseconds apart. A figure for which the slices
    have too few messages has no ratio, since the rounds' own values are of slices far apart;
    neither has a round in most of whose slices nothing came to one of the two.
    """
    if not took_turns_together(baseline, case):
        return paired_ratios(baseline.values(figure), case.values(figure))
    return tuple(filter(is_known, map(median, cycle_ratios(baseline, case, figure))))


def verdict_on(
    figure: str, baseline: tuple[Summary, Sample], case: tuple[Summary, Sample]
) -> Verdict:
    """How a case compares with a baseline in one figure, or why that cannot be said.

    Where there are two modes, the interval of the ratio holds both.
    """
    ratios = round_ratios(baseline[1], case[1], figure)
    ratio = figure_of(ratios, case[1].looks) if ratios else None
    summaries, samples = (baseline[0], case[0]), (baseline[1], case[1])
    doubt = nothing_doubt(figure, summaries, samples) or doubt_on(
        figure, summaries, samples, ratios, ratio
    )
    if ratio is not None:
        measured = ratio
        if doubt is not None and doubt.span is not None:
            measured = Figure(ratio.median, *doubt.span)
        ratio = with_clocks(figure, summaries, samples, measured)
        if not _is_barred(doubt) and judge(measured, figure) != judge(ratio, figure):
            doubt = clocks_doubt(figure, summaries, samples)
    return Verdict(
        baseline_case_id=baseline[0].case.case_id,
        case_id=case[0].case.case_id,
        figure=figure,
        ratio=ratio,
        verdict=_shown(ratio, doubt, figure),
        reason=doubt and doubt.reason,
        doubt=doubt and doubt.code,
    )


def _shown(
    ratio: Figure | None, doubt: Doubt | None, figure: str
) -> Literal["faster", "slower", "no_difference_shown", "cannot_say"]:
    """The verdict: where only the size is in doubt, a direction or nothing."""
    if ratio is None or _is_barred(doubt):
        return "cannot_say"
    shown = judge(ratio, figure)
    return "cannot_say" if doubt is not None and shown == "no_difference_shown" else shown


def _is_barred(doubt: Doubt | None) -> bool:
    return doubt is not None and doubt.span is None


def judge(ratio: Figure, figure: str) -> Literal["faster", "slower", "no_difference_shown"]:
    """The verdict on a ratio case ÷ baseline whose interval may be trusted."""
    if ratio.low <= 1 <= ratio.high:
        return "no_difference_shown"
    return "faster" if (ratio.low > 1) == is_higher_better(figure) else "slower"


def _baseline_pairs(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """(baseline, case): `nodelay` of the same kind first, then `loop/nodelay` by hand."""
    contestants = [case for case in cases if not is_limit(case)]
    own_nodelay = {_kind(case): case for case in contestants if case.strategy == "nodelay"}
    bases = {Load.of(case): case for case in contestants if is_base(case)}
    for case in contestants:
        for baseline in (own_nodelay.get(_kind(case)), bases.get(Load.of(case))):
            if baseline is not None and baseline is not case:
                yield baseline.case_id, case.case_id


def _external_pairs(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """(ours, not ours): limits too, as nothing else of ours may have been measured beside it."""
    for case in cases:
        if is_external(case):
            for other in cases:
                is_alike = Load.of(other) == Load.of(case)
                if is_alike and not (is_external(other) or is_faulty(other)):
                    yield other.case_id, case.case_id


def _kind(case: Case) -> tuple[Load, str, str, str | None]:
    return Load.of(case), case.runtime, case.implementation, server_of(case)


def _first_pairs(summaries: Sequence[Summary]) -> Iterator[tuple[str, str]]:
    for contest in contests_of(summaries):
        for other in contest.others:
            yield other.case_id, contest.ranked[0].case_id
