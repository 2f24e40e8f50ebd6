"""Every chart of a result, each only where the result has its data. To add one: a file and a line.

These modules need the extra `report`; nothing but the page and `--svg` imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tinygram_bench.model.result import Result
from tinygram_bench.report.charts.bars import bar_charts
from tinygram_bench.report.charts.chart import Chart
from tinygram_bench.report.charts.echo import echo_charts
from tinygram_bench.report.charts.links import link_charts
from tinygram_bench.report.charts.messages import message_charts
from tinygram_bench.report.charts.percentiles import connect_charts, percentile_charts
from tinygram_bench.report.charts.rates import rate_charts
from tinygram_bench.report.charts.sizes import size_charts
from tinygram_bench.report.charts.timeline import timeline_charts

CHARTS: tuple[Callable[[Result], Iterator[Chart]], ...] = (
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
"""In the order of the page: the first that a result has stands beside its answer."""


def charts_of(result: Result) -> tuple[Chart, ...]:
    """Their names are unique. Raises ValueError where a histogram cannot be read."""
    return tuple(chart for made in CHARTS for chart in made(result))
