"""Every chart of a result, each only where the result has its data.

To add a chart, add a file, and a line to CHARTS.

These modules need the extra `report`; nothing but the page and `--svg` imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from tinygram_bench.model.result import Result
from tinygram_bench.report.charts.bars import bar_charts
from tinygram_bench.report.charts.chart import Chart
from tinygram_bench.report.charts.echo import echo_charts
from tinygram_bench.report.charts.links import link_charts
from tinygram_bench.report.charts.messages import message_charts
from tinygram_bench.report.charts.percentiles import connect_charts, percentile_charts
from tinygram_bench.report.charts.rates import rate_charts
from tinygram_bench.report.charts.sizes import size_charts
from tinygram_bench.report.charts.sweep import sweep_charts
from tinygram_bench.report.charts.timeline import timeline_charts
from tinygram_bench.report.sweeps import by_value

CHARTS: tuple[Callable[[Result], Iterator[Chart]], ...] = (
    sweep_charts,
    rate_charts,
    echo_charts,
    bar_charts,
    percentile_charts,
    size_charts,
    message_charts,
    connect_charts,
    timeline_charts,
    link_charts,
)
"""In the order of the page: the first chart that a result has stands beside its answer."""
OF_SWEEPS = (sweep_charts, rate_charts)
"""The charts that show a sweep as a whole."""


def charts_of(result: Result) -> tuple[Chart, ...]:
    """All charts, with unique names. Raises ValueError where a histogram cannot be read.

    Charts of a sweep's single points are details, unless there are no others.
    """
    if result.plan.sweep is None:
        return tuple(chart for made in CHARTS for chart in made(result))
    result = by_value(result)
    found = [(made, chart) for made in CHARTS for chart in made(result)]
    has_own = any(made in OF_SWEEPS for made, _ in found)
    return tuple(
        replace(chart, is_detail=True) if has_own and made not in OF_SWEEPS else chart
        for made, chart in found
    )
