"""Latencies between two hosts, which two clocks took: shown where these know them well enough."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.support.experiments import paced_run, plan_of, result_of, swept, way

from tinygram_bench.model.result import HostRun, Result, Summary
from tinygram_bench.model.sweep import Limit
from tinygram_bench.report import answer_of, document_of
from tinygram_bench.report.charts.percentiles import percentile_charts
from tinygram_bench.report.charts.sweep import sweep_charts
from tinygram_bench.report.loads.hosts import part_tables
from tinygram_bench.report.numbers import interval_of, median_of
from tinygram_bench.statistics.one_way import INSTEAD, is_known, warnings_of
from tinygram_bench.workloads.warnings import with_bound

CASES = [way(name, 1_000) for name in ("loop/nodelay", "loop/cork")]
LATENCY_US = 100
P50 = "latency_p50_us"


def measured(bound_us: float | None, round_trip_us: float = 30) -> Result:
    """Two cases of 100 µs, the second a tenth slower, with this bound; None: on one host."""
    runs = []
    for number in range(6):
        for case, factor in zip(CASES, (1.0, 1.1), strict=True):
            run = paced_run(case, number, LATENCY_US * factor, 2_000)
            if bound_us is not None:
                counters = {
                    "clock_bound_ns": round(bound_us * 1_000),
                    "clock_round_trip_ns": round(round_trip_us * 1_000),
                }
                run = replace(run, counters=run.counters | counters)
            runs.append(run)
    return result_of(plan_of(CASES, runs), runs)


def swept_between(bound_us: float, limit_us: float) -> Result:
    """A sweep over 1,000/s, 10,000/s and 100,000/s, with latencies of 10, 20 and 30 µs."""
    made = swept(("loop/nodelay",), (1e3, 1e4, 1e5), 7)
    clocks = {"clock_bound_ns": round(bound_us * 1_000), "clock_round_trip_ns": 30_000}
    runs = [replace(run, counters=run.counters | clocks) for run in made.runs]
    assert made.plan.sweep is not None
    sweep = replace(made.plan.sweep, limit=Limit("latency_p99_us", limit_us))
    return result_of(replace(made.plan, sweep=sweep), runs)


def part(host: str, bound_us: float) -> HostRun:
    """A generator's part with latencies of 100, 200 and 900 µs."""
    return HostRun(
        host=host,
        server="server",
        connections=1,
        rate_per_s=1_000.0,
        messages=2_000,
        throughput_per_s=None,
        latency_p50_us=100.0,
        latency_p99_us=200.0,
        latency_max_us=900.0,
        clock_bound_ns=round(bound_us * 1_000),
        step_error_ns=0,
        late_start_ns=0,
    )


def codes(summary: Summary) -> set[str]:
    return {warning.code for warning in summary.warnings}


def test_a_latency_that_the_clocks_know_within_a_fifth_is_shown() -> None:
    first = measured(19.9).summaries[0]
    assert is_known(first.figures, P50)
    assert "half_round_trip" not in codes(first)
    assert median_of(first, P50).startswith("100")


def test_half_the_round_trip_is_shown_in_place_of_one_that_they_do_not_know() -> None:
    result = measured(21)
    first = result.summaries[0]
    assert median_of(first, P50) == "15.0 rtt/2"
    assert interval_of(first, P50) == "–"
    assert "half_round_trip" in codes(first)
    (warning,) = (each for each in first.warnings if each.code == "half_round_trip")
    assert "15.0 µs, is shown (rtt/2) in place of" in warning.message
    assert "median latency" in warning.message
    text = str(document_of(result, published=False))
    assert "15.0 rtt/2" in text


def test_nothing_is_shown_in_place_of_what_has_more_than_a_way_in_it() -> None:
    first = measured(21).summaries[0]
    figures = {name: found for name, found in first.figures.items() if name != INSTEAD}
    first = replace(first, figures=figures)
    assert median_of(first, P50) == "–"
    (warning,) = warnings_of(figures)
    assert warning.message.startswith("in place of")
    assert "nothing is shown" in warning.message


def test_ways_are_compared_by_what_was_measured_nevertheless() -> None:
    known, unknown = measured(1), measured(50)
    assert [each.verdict for each in known.verdicts] == [each.verdict for each in unknown.verdicts]
    assert unknown.summaries[0].figures[P50] == known.summaries[0].figures[P50]


def test_a_curve_has_no_times_that_the_clocks_do_not_know() -> None:
    assert list(percentile_charts(measured(1)))
    assert not list(percentile_charts(measured(50)))


def test_the_table_of_a_sweep_has_half_the_round_trip_in_their_place() -> None:
    table = document_of(swept_between(3, 100), published=False).sections[0].tables[0]
    first, *others = (row.cells[1] for row in table.rows)
    assert first == "15.0 rtt/2"
    assert [each[:2] for each in others] == ["20", "30"]
    assert not any("rtt/2" in each for each in others)
    (note,) = (each for each in table.notes if each.startswith("rtt/2"))
    assert "may be wrong by 3.0 µs, more than a fifth of the p99 latency" in note
    known = document_of(swept_between(1, 100), published=False).sections[0].tables[0]
    assert known.notes == ()


def test_a_limit_is_not_surely_kept_to_above_a_point_that_they_do_not_know() -> None:
    (kept, *_, doubts) = answer_of(swept_between(3, 100))
    assert "loop/nodelay sustains every rate up to 100,000/s" in kept
    assert "surely up to below 1,000/s" in kept
    assert doubts.startswith("In doubt are 1 of these 3 figures: the clocks of the two hosts may")
    (kept, *_) = answer_of(swept_between(1, 100))
    assert "surely up to" not in kept


@pytest.mark.parametrize("limit_us", [5, 100])
def test_nothing_is_said_of_a_limit_where_they_know_no_latency(limit_us: float) -> None:
    (kept, *_, doubts) = answer_of(swept_between(10, limit_us))
    assert "loop/nodelay is not timed well enough by the clocks of the two hosts to tell" in kept
    assert doubts.startswith("In doubt are 3 of these 3 figures")


def test_the_chart_of_a_sweep_has_no_points_that_they_do_not_know() -> None:
    result = swept_between(3, 100)
    assert result.plan.sweep is not None
    sweep = replace(result.plan.sweep, parameter="hold")
    (chart,) = sweep_charts(replace(result, plan=replace(result.plan, sweep=sweep)))
    assert [row["value"] for row in chart.rows] == [10, 100]


def test_a_host_of_a_cluster_has_no_latency_that_its_clocks_do_not_know() -> None:
    def shown(*bounds_us: float) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
        parts = tuple(part(f"host {bound_us}", bound_us) for bound_us in bounds_us)
        run = replace(paced_run(CASES[0], 0, LATENCY_US), hosts=parts)
        (table,) = part_tables(replace(measured(None), runs=(run,)), {CASES[0].case_id: "nodelay"})
        return [row.cells[-3:] for row in table.rows], table.notes

    cells, (note,) = shown(19, 30)
    assert cells == [("100", "200", "900"), ("–", "200", "900")]
    assert "more than a fifth" in note
    assert shown(19) == ([("100", "200", "900")], ())


def test_the_warning_says_by_how_much_times_may_be_wrong_and_what_cannot_be_known() -> None:
    run = with_bound(paced_run(CASES[0], 0, LATENCY_US, 2_000), 21_500, 40_000)
    (warning,) = (each for each in run.warnings if each.code == "clock_bound")
    assert "may be wrong by 21.5 µs: half of a round trip of 40.0 µs" in warning.message
    assert "nobody can see whether the way there or back takes longer" in warning.message


def test_on_one_host_there_is_no_bound() -> None:
    first = measured(None).summaries[0]
    assert "clock_bound_us" not in first.figures
    assert is_known(first.figures, P50)
