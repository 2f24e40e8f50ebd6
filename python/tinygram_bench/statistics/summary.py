"""Summaries: the figures of all rounds of a case together."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.model.result import Plan, Run, Summary
from tinygram_bench.statistics import one_way
from tinygram_bench.statistics.figures.intervals import confidence_of
from tinygram_bench.statistics.figures.runs import figure_names
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.figures.stalls import STALLED_SHARE
from tinygram_bench.statistics.one_way import OF_TWO_CLOCKS
from tinygram_bench.statistics.sizes_fits import with_models
from tinygram_bench.statistics.warnings import warnings_of
from tinygram_bench.statistics.workloads import OF_A_RATE, OF_TLS
from tinygram_bench.statistics.workloads.loads import Load


def summarise(plan: Plan, runs: Sequence[Run]) -> tuple[Summary, ...]:
    """One summary per case of the plan, in its order; a case without a good run has no figures.

    `Summary.rounds` counts the good rounds. Raises what `samples_of` and `figures_of` raise.
    """
    summaries = [_summary(sample) for sample in samples_of(plan, runs).values()]
    return with_models(plan, runs, summaries)


def _summary(sample: Sample) -> Summary:
    left_out = set() if Load.of(sample.case).tls else {*OF_TLS}
    if not any("clock_bound_ns" in run.counters for run in sample.good_runs):
        left_out |= {*OF_TWO_CLOCKS}
    if sample.case.is_flat_out:
        left_out |= {*OF_A_RATE}
    if not sample.took_turns:
        left_out.add(STALLED_SHARE)
    figures = {
        name: sample.figure(name)
        for name in figure_names(sample.case.workload)
        if name not in left_out
    }
    return Summary(
        case=sample.case,
        rounds=len(sample.rounds),
        failed_rounds=sample.failed_rounds,
        confidence=confidence_of(len(sample.rounds), sample.looks),
        figures=figures,
        warnings=(*warnings_of(sample, figures), *one_way.warnings_of(figures)),
    )
