"""Summaries: the median over the good rounds, how sure it is, and what to know about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import (
    deterministic,
    failed,
    flat_out,
    flat_out_run,
    histogram,
    paced,
    paced_run,
    plan_of,
    warned,
    way,
    with_pacing_error,
)

from tinygram_bench.model.result import Case, Figure, Run, Warning
from tinygram_bench.statistics import summarise

SEVEN = [100e3, 110e3, 90e3, 105e3, 95e3, 102e3, 98e3]


def figure(of: Figure | None) -> Figure:
    assert of is not None
    return of


def test_a_figure_is_the_median_and_interval_of_the_rounds() -> None:
    (summary,) = summarise(*flat_out({"loop/nodelay": SEVEN}))
    found = figure(summary.figures["throughput_per_s"])
    assert (summary.rounds, summary.failed_rounds, summary.confidence) == (7, 0, 0.984375)
    assert found.median == pytest.approx(100e3, rel=1e-6)
    assert (found.low, found.high) == pytest.approx((90e3, 110e3), rel=1e-6)
    assert figure(summary.figures["messages_per_write"]) == Figure(10, 10, 10)


def test_one_round_is_a_figure_without_confidence() -> None:
    (summary,) = summarise(*flat_out({"loop/nodelay": [100e3]}))
    found = figure(summary.figures["throughput_per_s"])
    assert found.low == found.median == found.high
    assert summary.confidence == 0


def test_failed_rounds_are_counted_and_left_out() -> None:
    plan, runs = flat_out({"loop/nodelay": SEVEN})
    (summary,) = summarise(plan, [*(failed(run) for run in runs[:3]), *runs[3:]])
    assert (summary.rounds, summary.failed_rounds, summary.confidence) == (4, 3, 0.875)
    assert figure(summary.figures["throughput_per_s"]).high == pytest.approx(105e3, rel=1e-6)


def test_a_case_that_never_ran_has_a_summary_without_figures() -> None:
    plan, _ = flat_out({"loop/nodelay": SEVEN})
    (summary,) = summarise(plan, [])
    assert (summary.rounds, summary.failed_rounds, summary.confidence) == (0, 0, 0)
    assert set(summary.figures.values()) == {None}


def test_summaries_keep_the_plans_order_whatever_the_runs_order() -> None:
    plan, runs = flat_out({"loop/nodelay": SEVEN, "asyncio/nagle": SEVEN, "loop/cork": SEVEN})
    assert [each.case for each in summarise(plan, runs[::-1])] == list(plan.cases)
    assert summarise(plan, runs[::-1]) == summarise(plan, runs)


def test_a_percentile_is_null_until_the_pooled_samples_support_it() -> None:
    case = way("loop/nodelay", 1_000)
    enough = [paced_run(case, number, 40, samples=200) for number in range(5)]
    scarce = [*enough[:4], paced_run(case, 4, 40, samples=199)]
    plan = plan_of([case], enough)
    assert summarise(plan, enough)[0].figures["latency_p99_us"] is not None
    assert summarise(plan, scarce)[0].figures["latency_p99_us"] is None
    assert summarise(plan, scarce)[0].figures["latency_p50_us"] is not None
    assert summarise(plan, enough)[0].figures["latency_p99_9_us"] is None


def _tail_run(case: Case, number: int, tail_us: Sequence[int]) -> Run:
    """2,000 samples of 40 µs, but for the longest, which are `tail_us`."""
    samples = [40_000] * (2_000 - len(tail_us)) + [us * 1_000 for us in tail_us]
    return Run(case.case_id, number, {}, {"latency_ns": histogram(samples)})


def test_a_percentile_that_no_round_alone_supports_is_that_of_all_samples_together() -> None:
    """With 14,000 samples p99.9 has 14 beyond it; with a round's 2,000, two."""
    case = way("loop/nodelay", 1_000)
    runs = [_tail_run(case, number, [100 + number] * 3) for number in range(6)]
    runs.append(_tail_run(case, 6, [5_000] * 30))
    (summary,) = summarise(plan_of([case], runs), runs)
    p99_9, p99 = (figure(summary.figures[f"latency_{each}_us"]) for each in ("p99_9", "p99"))
    assert p99_9.median == pytest.approx(5_000, rel=2e-3)
    assert (p99_9.low, p99_9.high) == pytest.approx((100, 5_000), rel=2e-3)
    assert p99.median == pytest.approx(40, rel=2e-3)


def test_a_percentile_that_each_round_supports_is_the_median_of_the_rounds() -> None:
    case = way("loop/nodelay", 1_000)
    runs = [_tail_run(case, number, [100 + number] * 30) for number in range(6)]
    runs.append(_tail_run(case, 6, [9_000] * 2_000))
    (summary,) = summarise(plan_of([case], runs), runs)
    assert figure(summary.figures["latency_p99_us"]).median == pytest.approx(103, rel=2e-3)


@deterministic
@given(st.lists(st.lists(st.integers(1, 10**9), min_size=20, max_size=40), min_size=1, max_size=5))
def test_extremes_are_those_of_all_rounds_between_the_rounds_own(rounds: list[list[int]]) -> None:
    case = way("loop/nodelay", 1_000)
    runs = [
        Run(case.case_id, number, {}, {"latency_ns": histogram(samples)})
        for number, samples in enumerate(rounds)
    ]
    figures = summarise(plan_of([case], runs), runs)[0].figures
    greatest, least = (figure(figures[f"latency_{each}_us"]) for each in ("max", "min"))
    assert greatest.median == greatest.high
    assert least.median == least.low
    ends_us = (greatest.low, greatest.high, least.low, least.high)
    of_rounds = (*_ends(map(max, rounds)), *_ends(map(min, rounds)))
    assert ends_us == pytest.approx([end_ns / 1_000 for end_ns in of_rounds], rel=2e-3)


def _ends(values: Iterable[int]) -> tuple[int, int]:
    known = [*values]
    return min(known), max(known)


def test_extremes_have_no_modes() -> None:
    case = way("loop/nodelay", 1_000)
    runs = [paced_run(case, number, us) for number, us in enumerate([13, 51, 13, 51, 13, 51])]
    (summary,) = summarise(plan_of([case], runs), runs)
    barred = {name for each in summary.warnings for name in each.figures}
    assert barred == {"latency_mean_us", "latency_p50_us"}


def test_samples_of_failed_rounds_support_nothing() -> None:
    case = way("loop/nodelay", 1_000)
    runs = [paced_run(case, number, 40, samples=200) for number in range(5)]
    plan = plan_of([case], runs)
    assert summarise(plan, [*runs[:4], failed(runs[4])])[0].figures["latency_p99_us"] is None


def test_a_counter_that_one_round_lacks_makes_no_figure() -> None:
    plan, runs = flat_out({"loop/nodelay": SEVEN})
    without = Run(runs[0].case_id, 0, {**runs[0].counters, "writes": None}, {})
    (summary,) = summarise(plan, [without, *runs[1:]])
    assert summary.figures["messages_per_write"] is None
    assert summary.figures["throughput_per_s"] is not None


def test_the_same_warning_is_kept_once_with_its_rounds() -> None:
    plan, runs = flat_out({"loop/nodelay": SEVEN})
    first = Warning("behind", "3 % behind", ("latency_",))
    second = Warning("behind", "4 % behind", ("throughput",))
    marked = [warned(runs[0], first), warned(runs[1], second, second), *runs[2:]]
    (summary,) = summarise(plan, marked)
    assert summary.warnings == (
        Warning("behind", "3 % behind (in 2 of 7 rounds)", ("latency_", "throughput")),
    )


def test_two_modes_are_a_warning_on_their_figure() -> None:
    case = way("loop/nodelay", 1_000)
    latencies = [13, 51, 13, 51, 13, 51, 13]
    runs = [paced_run(case, number, us) for number, us in enumerate(latencies)]
    (summary,) = summarise(plan_of([case], runs), runs)
    modes = {each.figures: each.message for each in summary.warnings if each.code == "two_modes"}
    assert modes["latency_p50_us",] == (
        "two modes in median latency: near 13 µs in 4 rounds, near 51 µs in 3 rounds"
    )
    assert not any("cpu_s_per_million" in figures for figures in modes)


def test_fewer_rounds_than_a_verdict_needs_have_no_modes() -> None:
    """With four rounds of one wide mode, one sample in nine looks like two."""
    case = way("loop/nodelay", 1_000)
    runs = [paced_run(case, number, us) for number, us in enumerate([13, 51, 13, 51, 13])]
    (summary,) = summarise(plan_of([case], runs), runs)
    assert [each for each in summary.warnings if each.code == "two_modes"] == []


@pytest.mark.parametrize(
    ("strategy", "held_us", "message"),
    [
        ("coalesce:10us", 44, "holds 44 µs where 10 µs were asked for"),
        ("timer:100us", 300, "holds 300 µs where 100 µs were asked for"),
        ("coalesce:10us", 19, None),
        ("nodelay", 44, None),
        ("of-another-version:8", 44, None),
    ],
)
def test_a_hold_of_over_twice_the_asked_one_is_a_finding(
    strategy: str, held_us: int, message: str | None
) -> None:
    plan, runs = paced({f"loop/{strategy}": [40] * 7})
    held = {"hold_ns": histogram([held_us * 1_000] * 200)}
    runs = tuple(
        msgspec.structs.replace(run, histograms={**run.histograms, **held}) for run in runs
    )
    (summary,) = summarise(plan, runs)
    expected = () if message is None else (Warning("hold_overrun", message),)
    assert summary.warnings == expected


def test_a_warning_of_every_round_says_so() -> None:
    plan, runs = flat_out({"loop/nodelay": SEVEN})
    marked = [failed(runs[0]), *(warned(run, Warning("host", "busy")) for run in runs[1:])]
    assert summarise(plan, marked)[0].warnings == (Warning("host", "busy (in every round)"),)


@pytest.mark.parametrize(("error_us", "is_warned"), [(9, False), (12, True)])
def test_a_pacer_late_by_over_a_quarter_of_the_latency_is_a_warning(
    error_us: float, is_warned: bool
) -> None:
    plan, runs = paced({"loop/nodelay": [40] * 7})
    (summary,) = summarise(plan, [with_pacing_error(run, error_us) for run in runs])
    found = [warning for warning in summary.warnings if warning.code == "pacing_error"]
    assert bool(found) == is_warned
    if found:
        assert {"latency_p50", "latency_p99"} <= set(found[0].figures)


def test_runs_that_the_plan_does_not_know_are_an_error() -> None:
    plan, runs = flat_out({"loop/nodelay": SEVEN})
    with pytest.raises(ValueError, match="which is not in the plan"):
        summarise(plan, [flat_out_run(way("loop/cork"), 0, 1e5)])
    with pytest.raises(ValueError, match="two runs"):
        summarise(plan, [*runs, runs[0]])
