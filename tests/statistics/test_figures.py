"""A run's figures: each from its counters, null where unknown or where it would mislead."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import deterministic, histogram, way

from tinygram_bench.model.result import Run
from tinygram_bench.statistics.figures.runs import (
    figures_of,
    has_enough_samples,
    is_higher_better,
)

FLAT_OUT = way("loop/nodelay")
PACED = way("loop/nodelay", 1_000)
RUN = Run(
    case_id="any",
    round=0,
    counters={
        "messages": 2_000_000,
        "bytes": 500_000_000,
        "run_time_ns": 4_000_000_000,
        "writes": 500_000,
        "reads": 10_000,
        "cpu_ns": 3_000_000_000,
        "receiver_cpu_ns": 1_000_000_000,
        "voluntary_context_switches": 300,
        "involuntary_context_switches": 100,
        "connect_ns": 45_000,
        "startup_ns": 20_000_000,
        "releases": 1_000_000,
        "data_segments": 250_000,
        "kernel_DelayedACKs": 12,
    },
    histograms={
        "queueing_ns": histogram([1_000, 2_000, 3_000]),
        "latency_ns": histogram([4_000, 6_000]),
        "pacing_error_ns": histogram([500]),
        "hold_ns": histogram([10_000]),
    },
)


def test_flat_out_figures() -> None:
    values = figures_of(FLAT_OUT, RUN).values
    expected = {
        "throughput_per_s": 500_000,
        "run_time_s": 4,
        "messages_per_write": 4,
        "writes": 500_000,
        "bytes_per_read": 50_000,
        "cpu_s_per_million": 1.5,
        "receiver_cpu_s_per_million": 0.5,
        "messages_per_segment": 8,
        "context_switches_per_million": 200,
        "connect_us": 45,
        "startup_ms": 20,
        "delayed_acks": 12,
        "queueing_min_us": 1,
        "queueing_mean_us": 2,
        "queueing_max_us": 3,
        "hold_p50_us": 10,
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected, rel=1e-3)


def test_what_rests_add_to_is_null_where_cases_took_turns() -> None:
    turns = msgspec.structs.replace(RUN, counters={**RUN.counters, "slices": 10})
    alone, in_turns = (figures_of(FLAT_OUT, run).values for run in (RUN, turns))
    assert {name for name in alone if in_turns[name] is None and alone[name] is not None} == {
        "run_time_s",
        "delayed_acks",
        "context_switches_per_million",
    }


@pytest.mark.parametrize(("messages", "per_s"), [(6_000, 3_000_000), (0, None)])
def test_in_slices_throughput_is_of_their_middles_and_of_nothing_else(
    messages: int, per_s: float | None
) -> None:
    """A run in slices has no time of its own: nothing stands in for middles without a message."""
    middles = {"slices": 10, "middle_messages": messages, "middle_ns": 2_000_000}
    run = msgspec.structs.replace(RUN, counters={**RUN.counters, **middles})
    assert figures_of(FLAT_OUT, run).values["throughput_per_s"] == per_s


def test_flat_out_has_no_latency_and_no_pacing() -> None:
    values = figures_of(FLAT_OUT, RUN).values
    paced_only = [name for name in values if name.startswith(("latency_", "pacing_error_"))]
    assert len(paced_only) == 9
    assert all(values[name] is None for name in [*paced_only, "messages_per_release"])


def test_paced_has_latency_and_neither_throughput_nor_queueing() -> None:
    values = figures_of(PACED, RUN).values
    assert values["latency_mean_us"] == pytest.approx(5, rel=1e-3)
    assert values["messages_per_release"] == 2
    queueing = [name for name in values if name.startswith("queueing_")]
    assert len(queueing) == 7
    assert all(values[name] is None for name in [*queueing, "throughput_per_s", "run_time_s"])


@pytest.mark.parametrize("counter", ["writes", "run_time_ns"])
@pytest.mark.parametrize("unknown", [None, 0])
def test_a_figure_is_null_where_its_divisor_is_unknown_or_nothing(
    counter: str, unknown: int | None
) -> None:
    run = msgspec.structs.replace(RUN, counters={**RUN.counters, counter: unknown})
    values = figures_of(FLAT_OUT, run).values
    figure = {"writes": "messages_per_write", "run_time_ns": "throughput_per_s"}[counter]
    assert values[figure] is None


def test_a_run_that_counted_nothing_has_every_name_and_no_value() -> None:
    bare = msgspec.structs.replace(RUN, counters={}, histograms={"queueing_ns": histogram([])})
    figures = figures_of(FLAT_OUT, bare)
    assert figures.values.keys() == figures_of(FLAT_OUT, RUN).values.keys()
    assert set(figures.values.values()) == {None}
    assert not figures.sample_counts


def test_a_broken_histogram_is_an_error() -> None:
    broken = msgspec.structs.replace(RUN, histograms={"queueing_ns": "not a histogram"})
    with pytest.raises(ValueError):  # noqa: PT011 - the message is the native module's
        figures_of(FLAT_OUT, broken)


@pytest.mark.parametrize(
    ("statistic", "needed"),
    [("p50", 20), ("p99", 1_000), ("p99_9", 10_000), ("p99_99", 100_000)],
)
def test_a_percentile_needs_ten_samples_beyond_it(statistic: str, needed: int) -> None:
    figure = f"latency_{statistic}_us"
    assert has_enough_samples(figure, {"latency": needed})
    assert not has_enough_samples(figure, {"latency": needed - 1})
    assert not has_enough_samples(figure, {"queueing": needed})


@deterministic
@given(st.integers(0, 10**6))
def test_other_figures_need_no_more_than_one_sample(count: int) -> None:
    for figure in ("latency_max_us", "latency_mean_us", "throughput_per_s"):
        assert has_enough_samples(figure, {"latency": count})


def test_only_rates_are_better_high() -> None:
    values = figures_of(PACED, RUN).values
    assert {name for name in values if is_higher_better(name)} == {
        *("throughput_per_s", "calls_per_s", "both_ways_mb_per_s")
    }
