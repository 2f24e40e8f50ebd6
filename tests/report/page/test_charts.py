"""What charts draw are the figures of the result, and each is there only where these are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.links.workloads.facts import facts
from tests.support.experiments import (
    failed,
    flat_out,
    histogram,
    paced_run,
    plan_of,
    result_of,
    warned,
    way,
)
from tests.support.measured import echo as echoed
from tests.support.measured import rr as called
from tests.support.measured import sizes as timed
from tests.support.plans import echo as echo_plans
from tests.support.plans import sizes as sizes_plans

from tinygram_bench.model import store
from tinygram_bench.model.parameters import FanoutParameters, SizesParameters
from tinygram_bench.model.result import EVERY_FIGURE, Case, Figure, Result, Run, Warning
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.charts.chart import Chart
from tinygram_bench.statistics.workloads.loads import way_of
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

STORED = Path(__file__).parents[2] / "model" / "stored"
ROUNDS = 7
FELL_BEHIND = Warning("fell_behind", "the last message came late", ("latency",))


def chart(result: Result, name: str) -> Chart:
    return next(each for each in charts_of(result) if each.name == name)


def values(chart: Chart, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(row[field] for field in fields) for row in chart.rows]


def paced(*rates_per_s: float, ways: tuple[str, ...] = ("loop/nodelay", "loop/nagle")) -> Result:
    """At the n-th rate each message takes n × 10 µs, and n × 20 µs by the second way."""
    cases = [way(text, rate) for rate in rates_per_s for text in ways]
    runs = [
        paced_run(case, number, 10 * (at // len(ways) + 1) * (at % len(ways) + 1), 2_000)
        for at, case in enumerate(cases)
        for number in range(ROUNDS)
    ]
    return result_of(plan_of(cases, runs), runs)


def test_bars_have_every_ways_figure_the_best_first() -> None:
    result = result_of(
        *flat_out(
            {
                "loop/nodelay": [100, 110, 120],
                "loop/nagle": [300, 310, 320],
                "threads/nodelay": [5, 6, 7],
            }
        )
    )
    bars = chart(result, "throughput")
    figures = {way_of(each.case): each.figures["throughput_per_s"] for each in result.summaries}
    assert [row["way"] for row in bars.rows] == ["loop/nagle", "loop/nodelay", "threads/nodelay"]
    for name, median, low, high in values(bars, "way", "median", "low", "high"):
        found = figures[str(name)]
        assert found is not None
        assert (median, low, high) == (found.median, found.low, found.high)


def test_the_least_latency_is_the_best() -> None:
    bars = chart(paced(1_000), "latency-median")
    assert [row["way"] for row in bars.rows] == ["loop/nodelay", "loop/nagle"]


def test_curves_are_those_of_all_rounds_together_as_far_as_samples_tell() -> None:
    result = paced(1_000)
    curves = chart(result, "latency-percentiles")
    nodelay = [row for row in curves.rows if row["way"] == "loop/nodelay"]
    # 14,000 samples: fourteen are beyond p99.9, and seven beyond p99.95.
    assert max(float(row["percentile"] or 0) for row in nodelay) == 99.9
    summary = next(each for each in result.summaries if way_of(each.case) == "loop/nodelay")
    for percentile, figure in ((50, "latency_p50_us"), (99, "latency_p99_us")):
        [row] = [row for row in nodelay if row["percentile"] == percentile]
        found = summary.figures[figure]
        assert found is not None
        assert row["time_us"] == found.median


def test_the_curve_reaches_the_rare_percentile_that_the_summary_has() -> None:
    case = way("loop/nodelay", 1_000)
    times = [10_000 + at for at in range(20_000)]
    runs = [Run(case.case_id, number, {}, {"latency_ns": histogram(times)}) for number in range(6)]
    result = result_of(plan_of([case], runs), runs)
    curve = chart(result, "latency-percentiles")
    found = result.summaries[0].figures["latency_p99_99_us"]
    assert found is not None
    assert values(curve, "percentile", "time_us")[-1] == (99.99, found.median)


def test_the_latency_of_a_publication_counts_from_when_that_was_due() -> None:
    fanout = FanoutParameters(
        congestion_control="cubic", timeout_ns=10**9, server="protocol", duration_ns=10**9
    )
    published = msgspec.structs.replace(
        way("asyncio/nodelay", 1_000), workload="fanout", parameters=fanout
    )
    for case, title in (
        (published, "Latency from the intended publication time"),
        (way("asyncio/nodelay", 1_000), "Latency from the intended send time"),
    ):
        runs = [paced_run(case, number, 10) for number in range(ROUNDS)]
        result = result_of(plan_of([case], runs), runs)
        assert chart(result, "latency-percentiles").title == title


def test_the_highest_rate_that_a_way_kept_up_with_is_marked() -> None:
    result = paced(1_000, 10_000, 100_000, 1_000_000)
    runs = [
        warned(run, FELL_BEHIND) if run.case_id == "loop/nagle 100000" else run
        for run in result.runs
    ]
    rates = chart(result_of(result.plan, runs), "latency-against-rate-median")
    assert values(rates, "way", "rate_per_s", "kept_up") == [
        ("loop/nodelay", 1_000, "yes"),
        ("loop/nodelay", 10_000, "yes"),
        ("loop/nodelay", 100_000, "yes"),
        ("loop/nodelay", 1_000_000, "up to here"),
        ("loop/nagle", 1_000, "yes"),
        ("loop/nagle", 10_000, "up to here"),
        ("loop/nagle", 100_000, "no"),
        ("loop/nagle", 1_000_000, "yes"),
    ]
    figures = {
        (way_of(each.case), each.case.rate_per_s): each.figures["latency_p50_us"]
        for each in result.summaries
    }
    for name, rate_per_s, median, low, high in values(
        rates, "way", "rate_per_s", "median", "low", "high"
    ):
        assert figures[name, rate_per_s] == Figure(median, low, high)


def test_each_load_has_its_own_chart_of_rates() -> None:
    def at(link: str, rate_per_s: float, us: float) -> tuple[Case, list[Run]]:
        made = way("loop/nodelay", rate_per_s)
        # Plans do so: the lower the rate, the longer the slices.
        parameters = msgspec.structs.replace(made.parameters, slice_ns=round(1e9 / rate_per_s))
        case_id = f"{link} {rate_per_s:g}"
        made = msgspec.structs.replace(made, link=link, case_id=case_id, parameters=parameters)
        return made, [paced_run(made, number, us, 2_000) for number in range(ROUNDS)]

    found = [
        *(at("lan", 1_000, 10), at("lan", 2_000, 20)),
        *(at("wan", 1_000, 300), at("wan", 2_000, 400)),
        at("loopback", 1_000, 5),
    ]
    runs = [run for _, of in found for run in of]
    charts = charts_of(result_of(plan_of([case for case, _ in found], runs), runs))
    drawn = {
        (each.name, each.where): [
            (row["rate_per_s"], round(float(row["median"] or 0))) for row in each.rows
        ]
        for each in charts
        if "against-rate-median" in each.name
    }
    assert drawn == {
        ("latency-against-rate-median-1", "over lan"): [(1_000, 10), (2_000, 20)],
        ("latency-against-rate-median-2", "over wan"): [(1_000, 300), (2_000, 400)],
    }


def test_charts_of_calls_against_rate_have_the_words_of_calls() -> None:
    options = RrOptions(
        rounds=ROUNDS,
        connections=("9", "100"),
        runtimes=("native",),
        sends_per_request=(1,),
        rates_per_s=(1_000.0, 2_000.0),
    )
    charts = charts_of(called.measured(plan_rr(options)))
    assert [
        (each.name, each.title, each.where) for each in charts if "against-rate-p99" in each.name
    ] == [
        ("call-against-rate-p99-1", "Call time against rate: p99", "9 callers, 9 connections"),
        ("call-against-rate-p99-2", "Call time against rate: p99", "100 callers, 100 connections"),
    ]


def test_no_rate_above_one_at_which_all_runs_failed_is_sustained() -> None:
    result = paced(1_000, 10_000, 100_000)
    runs = [failed(run) if run.case_id == "loop/nagle 10000" else run for run in result.runs]
    rates = chart(result_of(result.plan, runs), "latency-against-rate-median")
    assert values(rates, "way", "rate_per_s", "kept_up") == [
        ("loop/nodelay", 1_000, "yes"),
        ("loop/nodelay", 10_000, "yes"),
        ("loop/nodelay", 100_000, "up to here"),
        ("loop/nagle", 1_000, "up to here"),
        ("loop/nagle", 100_000, "yes"),
    ]


def test_a_figure_that_a_warning_bars_has_a_question_mark_and_is_not_ranked() -> None:
    late = Warning("pacing_error", "the pacer was late", ("latency_p50",))
    result = paced(1_000, 10_000)
    runs = [warned(run, late) if run.case_id == "loop/nodelay 1000" else run for run in result.runs]
    result = result_of(result.plan, runs)
    bars = chart(result, "latency-median-1")
    assert values(bars, "label", "is_barred") == [
        ("loop/nagle", "no"),
        ("loop/nodelay ?", "yes"),
    ]
    curves = chart(result, "latency-percentiles-1")
    assert [row for row in values(curves, "way", "percentile", "is_barred") if row[2] == "yes"] == [
        ("loop/nodelay", 50, "yes")
    ]
    rates = chart(result, "latency-against-rate-median")
    assert [row for row in values(rates, "way", "rate_per_s", "is_barred") if row[2] == "yes"] == [
        ("loop/nodelay", 1_000, "yes")
    ]
    for each in (bars, curves, rates):
        assert "A question mark: a warning bars this value" in each.text
    for name in ("latency-median-2", "latency-percentiles-2", "latency-against-rate-p99"):
        other = chart(result, name)
        assert {row["is_barred"] for row in other.rows} == {"no"}
        assert "question mark" not in other.text


def test_a_warning_that_bars_all_figures_bars_those_of_messages_and_of_echo() -> None:
    slow = Warning("link_slow", "the link was slow", EVERY_FIGURE)
    stream = store.load(STORED / "v1-stream-flat-out.json")
    first = stream.plan.cases[0].case_id
    runs = [warned(run, slow) if run.case_id == first else run for run in stream.runs]
    messages = chart(result_of(stream.plan, runs), "messages-per-write")
    marked = {row["way"] for row in messages.rows if row["is_barred"] == "yes"}
    assert marked == {way_of(stream.plan.cases[0])}
    plan = echo_plans.planned("asyncio/protocol", "asyncio/streams:64KiB", message_bytes=[1, 9])
    echo = echoed.measured(plan, {"asyncio/protocol": 50_000, "asyncio/streams:64KiB": 25_000})
    first = plan.cases[0].case_id
    runs = [warned(run, slow) if run.case_id == first else run for run in echo.runs]
    grid = chart(result_of(plan, runs), "echo-sizes")
    assert [str(row["text"]).endswith("k ?") for row in grid.rows] == [True, False, False, False]


def test_what_the_host_did_to_ways_that_took_turns_bars_no_figure() -> None:
    late = Warning("pacing_error", "the pacer was late", ("latency",))
    result = paced(1_000)
    cases = [
        msgspec.structs.replace(
            case, parameters=msgspec.structs.replace(case.parameters, slice_ns=20_000_000)
        )
        for case in result.plan.cases
    ]
    runs = [warned(run, late) for run in result.runs]
    bars = chart(result_of(plan_of(cases, runs), runs), "latency-median")
    assert {row["is_barred"] for row in bars.rows} == {"no"}


def test_messages_of_a_write_and_of_a_segment_stand_side_by_side() -> None:
    result = store.load(STORED / "v1-stream-flat-out.json")
    found = {
        (way_of(each.case), kind): figure.median
        for each in result.summaries
        for kind in ("write", "segment")
        if (figure := each.figures[f"messages_per_{kind}"]) is not None
    }
    drawn = values(chart(result, "messages-per-write"), "way", "of", "median")
    assert {(way, str(of).removeprefix("per ")): median for way, of, median in drawn} == found


def test_the_sizes_charts_have_the_model_and_how_far_cells_are_off_it() -> None:
    def time_us(case: Case, number: int) -> float:
        trip_us = 10 + case.message_bytes.max / 1_000
        return (20 + SizesParameters.of(case).round_trips * trip_us) * (1 + number / 1_000)

    result = timed.measured(sizes_plans.planned(), time_us)
    model, residuals = chart(result, "size-model"), chart(result, "size-residuals")
    measured = {
        (row["trips"], row["bytes"]): row["median"]
        for row in model.rows
        if row["kind"] == "measured"
    }
    expected = {}
    for summary in result.summaries:
        trips = SizesParameters.of(summary.case).round_trips
        total = summary.figures["total_p50_us"]
        if trips and total is not None:
            label = "1 round trip" if trips == 1 else f"{trips} round trips"
            expected[label, summary.case.message_bytes.max] = total.median
    assert measured == expected
    [half] = [row for row in model.rows if row["kind"] == "half of the bandwidth"]
    assert half["bytes"] == pytest.approx(10_000, rel=0.01)
    found = [each.figures["model_residual_percent"] for each in result.summaries]
    assert [row["median"] for row in residuals.rows] == [each.median for each in found if each]


def test_servers_and_sizes_of_echo_stand_in_one_chart() -> None:
    plan = echo_plans.planned(
        "asyncio/protocol", "asyncio/streams:64KiB", message_bytes=[1_000, 4_096]
    )
    result = echoed.measured(plan, {"asyncio/protocol": 50_000, "asyncio/streams:64KiB": 25_000})
    grid = charts_of(result)[0]
    assert grid.name == "echo-sizes"
    assert values(grid, "way", "size", "share") == [
        ("asyncio/protocol", "1 kB", 1),
        ("asyncio/streams:64KiB", "1 kB", 0.5),
        ("asyncio/protocol", "4.10 kB", 1),
        ("asyncio/streams:64KiB", "4.10 kB", 0.5),
    ]


def test_a_link_is_drawn_as_it_was_asked_and_found() -> None:
    result = paced(1_000)
    late = {"link_lateness_ns": histogram([20_000] * 2_000)}
    runs = [
        msgspec.structs.replace(run, link=facts(), histograms=run.histograms | late)
        for run in result.runs
    ]
    links = chart(result_of(result.plan, runs), "links")
    drawn = {row["of"]: row["time_us"] for row in links.rows}
    assert drawn["round trip asked"] == 1_000
    assert drawn["round trip found"] == 1_001
    assert drawn["late p99"] == pytest.approx(20, rel=0.01)


def test_calls_and_connecting_are_drawn_apart() -> None:
    result = called.measured(plan_rr(RrOptions(rounds=ROUNDS)))
    connected = {"connect_ns": histogram([30_000] * 100)}
    runs = [
        msgspec.structs.replace(run, histograms=run.histograms | connected) for run in result.runs
    ]
    names = [each.name for each in charts_of(result_of(result.plan, runs))]
    assert names == ["calls", "call-percentiles", "connect-percentiles"]


@pytest.mark.parametrize("path", sorted(STORED.glob("*.json")), ids=lambda path: path.stem)
def test_every_stored_result_has_charts_with_names_of_their_own(path: Path) -> None:
    charts = charts_of(store.load(path))
    names = [each.name for each in charts]
    assert names
    assert len(set(names)) == len(names)
    for each in charts:
        assert each.rows
        for row in each.rows:
            assert each.columns.keys() <= row.keys()
        for spec in (each.page_spec(), each.file_spec()):
            assert [dict(row) for row in each.rows] in spec["datasets"].values()


def test_a_result_without_runs_has_no_chart() -> None:
    assert charts_of(result_of(plan_of([way("loop/nodelay")], []), [])) == ()
