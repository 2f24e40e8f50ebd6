"""Histograms as a large page holds them: exact where figures are told, with less detail between.

Law: whatever a report, a page or a comparison tells of the result is the same for the thinned one.
Told of a run are the count, the extremes, the mean and a few percentiles, and of all good runs of a
case together those percentiles that a chart draws.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from msgspec.structs import replace

from tinygram_bench import _native
from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Result, Run
from tinygram_bench.report.charts.percentiles import PERCENTILES
from tinygram_bench.statistics.figures.spreads import TOLD_PERCENTILES

OF_LINKS = "link_lateness_ns"
OF_MANY_CASES = "sizes"

_Key = tuple[str, str]
"""A case's id, and the name of a histogram."""


def thinned(result: Result) -> Result:
    """The result with thinned histograms; a thinned result stays the same.

    The result is marked where a histogram has changed, so that reports of it can say so. Histograms
    whose percentiles are told of several cases together stay as they are: a link's lateness, and
    those of `sizes`, each with few samples. Raises ValueError where one cannot be read.
    """
    told_ns = _told_ns(result)
    runs = tuple(_thinned(run, told_ns) for run in result.runs)
    return replace(result, runs=runs, is_thinned=result.is_thinned or runs != result.runs)


def _told_ns(result: Result) -> dict[_Key, tuple[int, ...]]:
    """The percentiles, in ns, of all good runs of a case together, for each thinned histogram."""
    left = {case.case_id for case in result.plan.cases if case.workload == OF_MANY_CASES}
    pools: defaultdict[_Key, Histogram] = defaultdict(Histogram)
    for run in result.runs:
        if run.failure is None and run.case_id not in left:
            for name, text in run.histograms.items():
                if name != OF_LINKS:
                    pools[run.case_id, name].merge(Histogram.from_base64(text))
    # Figures of all rounds use the percentiles told of runs, whether or not a chart draws them.
    percentiles = sorted({*PERCENTILES, *TOLD_PERCENTILES})
    return {key: tuple(map(pool.percentile_ns, percentiles)) for key, pool in pools.items()}


def _thinned(run: Run, told_ns: Mapping[_Key, tuple[int, ...]]) -> Run:
    histograms = {}
    for name, text in run.histograms.items():
        of_all_ns = told_ns.get((run.case_id, name))
        if of_all_ns is not None:
            whole = Histogram.from_base64(text)
            own_ns = map(whole.percentile_ns, TOLD_PERCENTILES)
            text = _native.thinned(whole, [*own_ns, *of_all_ns]).to_base64()
        histograms[name] = text
    return replace(run, histograms=histograms)
