"""What the clocks of two hosts may be wrong by stands beside every figure that depends on them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.hosts.test_one_way import CASES, LATENCY_US, measured, part, swept_between
from tests.support.experiments import paced_run

from tinygram_bench.model.result import Named, Result
from tinygram_bench.report import answer_of, document_of
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.comparing import write_comparison
from tinygram_bench.report.exports.hdr_log import hdr_log
from tinygram_bench.report.exports.markdown import report_markdown
from tinygram_bench.report.exports.summaries_csv import CLOCKS, summaries_csv
from tinygram_bench.report.loads.hosts import part_tables
from tinygram_bench.report.table import Pen, Table, fitted
from tinygram_bench.runs.progress.latest import in_words, latest_of
from tinygram_bench.statistics.changes.comparison import compare_results

BOUND_US = 5.04
SHOWN = "5.1"
"""It is rounded up: what is stated is never smaller than what it is."""


def tables_of(result: Result) -> Iterator[Table]:
    for section in document_of(result, published=False).sections:
        yield from (*section.tables, *section.details)


def cells_under(table: Table, header: str) -> list[str]:
    names = [column.name for column in table.columns]
    return [row.cells[names.index(header)] for row in table.rows]


def lines_of(*results: Result) -> list[dict[str, str]]:
    text = summaries_csv([Named(f"result {at}", each) for at, each in enumerate(results)])
    return list(csv.DictReader(io.StringIO(text)))


def test_a_table_of_latencies_has_the_bound_of_each_row_and_says_what_it_is() -> None:
    (table,) = tables_of(measured(BOUND_US))
    assert cells_under(table, "± clock") == [SHOWN, SHOWN]
    (note,) = (each for each in table.notes if each.startswith("± clock"))
    assert "may be wrong by so much" in note
    assert "alike for all ways of a round" in note
    (alone,) = tables_of(measured(BOUND_US, are_alone=True))
    (note,) = (each for each in alone.notes if each.startswith("± clock"))
    assert "alike" not in note


def test_a_narrow_table_keeps_the_bound() -> None:
    (table,) = tables_of(measured(BOUND_US))
    narrow = fitted(table, 50, 1)
    assert len(narrow.columns) < len(table.columns)
    assert "± clock" in [column.name for column in narrow.columns]


def test_markdown_has_the_bound_in_its_tables() -> None:
    text = report_markdown([Named("measured", measured(BOUND_US))])
    assert "± clock" in text
    assert f"| {SHOWN} |" in text


def test_each_line_of_csv_has_the_bound_of_its_figure_and_half_the_round_trip_says_so() -> None:
    lines = lines_of(measured(30, ratio=2.0))
    by_figure = {(each["case_id"], each["figure"]): each for each in lines}
    nodelay, cork = (case.case_id for case in CASES)
    known = by_figure[cork, "latency_p50_us"]
    assert (known["clock_bound_us"], known["shown_instead"]) == ("30.0", "")
    assert float(known["median"]) == pytest.approx(200, rel=0.01)
    unknown = by_figure[nodelay, "latency_p50_us"]
    assert (unknown["clock_bound_us"], unknown["shown_instead"]) == ("30.0", "rtt/2")
    assert (unknown["median"], unknown["low"], unknown["high"]) == ("15.0", "15.0", "15.0")
    counted = by_figure[nodelay, "writes"]
    assert (counted["clock_bound_us"], counted["shown_instead"]) == ("", "")


def test_csv_of_one_host_has_no_more_columns() -> None:
    assert not {*CLOCKS} & lines_of(measured(None))[0].keys()
    both = lines_of(measured(None), measured(BOUND_US))
    assert {*CLOCKS} <= both[0].keys()
    assert both[0]["clock_bound_us"] == ""


@pytest.mark.parametrize("name", ["latency-median", "latency-percentiles"])
def test_a_chart_of_latencies_says_the_bound_and_its_rows_have_it(name: str) -> None:
    (chart,) = (each for each in charts_of(measured(BOUND_US)) if each.name == name)
    assert f"may be wrong by up to {SHOWN} µs in each of these times" in chart.text
    assert chart.columns["clock_us"] == "± clock, µs"
    assert {row["clock_us"] for row in chart.rows} == {BOUND_US}


def test_charts_of_a_sweep_and_the_timeline_say_the_bound() -> None:
    charts = {each.name: each for each in charts_of(swept_between(1, 100))}
    of_rates = [each for name, each in charts.items() if name.startswith("latency-against-rate")]
    assert of_rates
    assert all("may be wrong by up to 1.0 µs" in each.text for each in of_rates)
    assert all({row["clock_us"] for row in each.rows} == {1.0} for each in of_rates)
    (timeline,) = (each for each in charts_of(measured(BOUND_US)) if each.name == "timeline")
    assert f"may be wrong by up to {SHOWN} µs" in timeline.text


def test_the_table_of_a_sweep_has_the_largest_bound_of_each_point() -> None:
    table = next(tables_of(swept_between(1.01, 100)))
    assert cells_under(table, "± clock") == ["1.1", "1.1", "1.1"]


def test_the_answer_says_that_its_intervals_hold_the_bound() -> None:
    (answer,) = answer_of(measured(BOUND_US))
    told = "these intervals hold what the clocks of the two hosts may be wrong by"
    assert f"{told}, {SHOWN} µs" in answer


def test_a_comparison_has_the_bounds_of_both_results_and_half_the_round_trip() -> None:
    compared = compare_results(measured(BOUND_US), measured(30), "times")
    file = io.StringIO()
    write_comparison(Pen(Console(file=file, width=200)), compared, ())
    lines = file.getvalue().splitlines()
    assert any(line.count("+- clock") == 2 for line in lines)
    (row,) = (line for line in lines if line.startswith("loop/nodelay") and "median" in line)
    assert row.split()[5:10] == ["100", "15.0", "rtt/2", SHOWN, "30.0"]


def test_a_host_of_a_cluster_has_its_own_bound_beside_its_latencies() -> None:
    run = replace(paced_run(CASES[0], 0, LATENCY_US), hosts=(part("elm", 19), part("fir", 9)))
    result = replace(measured(None), runs=(run,))
    (table,) = part_tables(result, {CASES[0].case_id: "nodelay"})
    assert cells_under(table, "± clock") == ["19.0", "9.0"]


def test_progress_tells_the_bound_and_no_latency_that_the_clocks_do_not_know() -> None:
    def told(bound_us: float | None) -> list[str]:
        result = measured(bound_us)
        return in_words(filter(None, map(latest_of, result.plan.cases, result.runs[:2])))

    assert told(BOUND_US)[-1] == f"clocks ± {SHOWN} µs"
    assert [each.partition(" ")[0] for each in told(BOUND_US)] == ["due", "p50", "p99", "clocks"]
    assert [each.partition(" ")[0] for each in told(30)] == ["due"]
    assert [each.partition(" ")[0] for each in told(None)] == ["due", "p50", "p99"]


def test_on_one_host_nothing_is_said_of_clocks() -> None:
    result = measured(None)
    assert "clock" not in report_markdown([Named("measured", result)])
    assert not any(
        "clock" in str(each.columns) + each.text
        for each in charts_of(result)
        if each.name != "latency-percentiles"
    )
    assert "clock" not in hdr_log([Named("measured", result)])
    assert "clock" not in " ".join(answer_of(result))


def test_a_log_of_histograms_says_by_how_much_they_may_be_wrong() -> None:
    assert "which may be wrong by 5040 ns" in hdr_log([Named("measured", measured(BOUND_US))])
