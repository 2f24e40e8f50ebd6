"""Names of figures as a person says them."""

from __future__ import annotations

import pytest

from tinygram_bench.statistics.figures.runs import figure_names
from tinygram_bench.statistics.figures.words import in_words, unit_of
from tinygram_bench.statistics.workloads import WORKLOADS


@pytest.mark.parametrize(
    ("figure", "words", "unit"),
    [
        ("queueing_p50_us", "median queueing time", " µs"),
        ("latency_p99_99_us", "p99.99 latency", " µs"),
        ("latency_p99_9_us", "p99.9 latency", " µs"),
        ("round_trip_max_us", "greatest round trip", " µs"),
        ("throughput_per_s", "throughput", "/s"),
        ("cpu_s_per_million", "CPU time per million messages", ""),
        ("messages_per_write", "messages per write", ""),
    ],
)
def test_a_figure_in_words(figure: str, words: str, unit: str) -> None:
    assert (in_words(figure), unit_of(figure)) == (words, unit)


def test_no_figure_is_told_by_its_internal_name() -> None:
    names = {name for workload in WORKLOADS for name in figure_names(workload)}
    assert not [name for name in names if "_" in in_words(name)]


def test_no_two_figures_of_a_workload_have_the_same_words() -> None:
    for workload in WORKLOADS:
        names = figure_names(workload)
        assert len({in_words(name) for name in names}) == len(names)
