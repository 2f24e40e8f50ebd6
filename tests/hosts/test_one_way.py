"""Latencies between two hosts, which two clocks took: shown where these know them well enough."""

from __future__ import annotations

from msgspec.structs import replace
from tests.support.experiments import paced_run, plan_of, result_of, way

from tinygram_bench.model.result import Result, Summary
from tinygram_bench.report import document_of
from tinygram_bench.report.charts.percentiles import percentile_charts
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


def test_the_warning_says_by_how_much_times_may_be_wrong_and_what_cannot_be_known() -> None:
    run = with_bound(paced_run(CASES[0], 0, LATENCY_US, 2_000), 21_500, 40_000)
    (warning,) = (each for each in run.warnings if each.code == "clock_bound")
    assert "may be wrong by 21.5 µs: half of a round trip of 40.0 µs" in warning.message
    assert "nobody can see whether the way there or back takes longer" in warning.message


def test_on_one_host_there_is_no_bound() -> None:
    first = measured(None).summaries[0]
    assert "clock_bound_us" not in first.figures
    assert is_known(first.figures, P50)
