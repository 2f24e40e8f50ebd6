"""Summaries: what all rounds of a case say together."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram.bench.result import Plan, Run, Summary
from tinygram.bench.statistics.counters import FORMULAS
from tinygram.bench.statistics.figures import STATISTIC_OF_FIGURE
from tinygram.bench.statistics.intervals import confidence_of
from tinygram.bench.statistics.samples import Sample, samples_of
from tinygram.bench.statistics.warnings import warnings_of

FIGURE_NAMES = (*FORMULAS, *STATISTIC_OF_FIGURE)


def summarise(plan: Plan, runs: Sequence[Run]) -> tuple[Summary, ...]:
    """One summary per case of the plan, in its order; a case without a good run has no figures.

    `Summary.rounds` counts the good rounds. Raises what `samples_of` and `figures_of` raise.
    """
    return tuple(_summary(sample) for sample in samples_of(plan, runs).values())


def _summary(sample: Sample) -> Summary:
    figures = {name: sample.figure(name) for name in FIGURE_NAMES}
    return Summary(
        case=sample.case,
        rounds=len(sample.rounds),
        failed_rounds=sample.failed_rounds,
        confidence=confidence_of(len(sample.rounds)),
        figures=figures,
        warnings=warnings_of(sample, figures),
    )
