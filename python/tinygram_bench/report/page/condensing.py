"""A result as the largest pages hold it: the figures of each run, without their sources.

Law: the answer, the summaries, the verdicts, and whatever a report or a comparison tells of the
result are the same for the condensed one. Things that it cannot tell are left out, which it says:
percentile curves, timelines and logs of histograms.
"""

from __future__ import annotations

from collections import defaultdict

from msgspec.structs import replace

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Case, Result, Run
from tinygram_bench.report.page.thinning import OF_LINKS, OF_MANY_CASES
from tinygram_bench.statistics.figures.runs import condensed_figures

_Link = tuple[str, str, str]
"""A link, its backend and its device."""


def condensed(result: Result, answer: tuple[str, ...]) -> Result:
    """The result without histograms and slices; a condensed result stays the same.

    It must have its summaries; `answer`: that of its report. What is told of several cases together
    stays: runs of `sizes` are left as they are, and a link's lateness in all runs goes into the
    first run over it. Raises ValueError where a histogram cannot be read.
    """
    if result.is_condensed:
        return result
    cases = {case.case_id: case for case in result.plan.cases}
    links: defaultdict[_Link, Histogram] = defaultdict(Histogram)
    for run in result.runs:
        if (link := _link_of(cases[run.case_id], run)) is not None:
            links[link].merge(Histogram.from_base64(run.histograms[OF_LINKS]))
    late = {link: pool.to_base64() for link, pool in links.items()}
    runs = []
    for run in result.runs:
        case = cases[run.case_id]
        link = _link_of(case, run)
        text = None if link is None else late.pop(link, None)
        runs.append(_condensed(case, run, {} if text is None else {OF_LINKS: text}))
    if tuple(runs) == result.runs:
        return result
    return replace(result, runs=tuple(runs), answer=answer, is_condensed=True)


def _link_of(case: Case, run: Run) -> _Link | None:
    """The link whose lateness the run has; None where it has none, or stays as it is."""
    if case.workload == OF_MANY_CASES or run.link is None or OF_LINKS not in run.histograms:
        return None
    return case.link, run.link.backend, run.link.device


def _condensed(case: Case, run: Run, kept: dict[str, str]) -> Run:
    """The run with only these histograms, and with figures in place of the others."""
    if case.workload == OF_MANY_CASES:
        return run
    counts = {name: Histogram.from_base64(text).count for name, text in run.histograms.items()}
    return replace(
        run,
        histograms=kept,
        slices={},
        sample_counts={**run.sample_counts, **counts},
        figures=condensed_figures(case, run) if run.failure is None else {},
    )
