"""A sweep's answer, table and chart are in every form of its report, and say the same of a rate."""

from __future__ import annotations

import re

import pytest
from markupsafe import escape
from msgspec.structs import replace
from tests.support.experiments import histogram, paced_run, plan_of, result_of, warned, way

from tinygram_bench.model.result import Named, Plan, Result, Warning
from tinygram_bench.model.sweep import Limit, Point, Sweep
from tinygram_bench.report import answer_of, document_of
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.exports.markdown import escaped, report_markdown
from tinygram_bench.report.exports.pictures import pictures
from tinygram_bench.report.numbers import UNKNOWN
from tinygram_bench.report.page import page_of
from tinygram_bench.statistics.recurring import FELL_BEHIND

ROUNDS = 7
RATES = (1_000.0, 10_000.0, 100_000.0, 1_000_000.0)
WAYS = ("loop/nodelay", "loop/nagle")
ROUNDS_BEHIND = {("loop/nodelay", 1_000_000.0): 7, ("loop/nagle", 10_000.0): 3} | {
    ("loop/nagle", 100_000.0): 4
}


@pytest.fixture(scope="module")
def swept() -> Result:
    # An order in which they may have been chosen: the middle last.
    chosen = (RATES[0], RATES[-1], *RATES[1:-1])
    cases = {(text, rate): way(text, rate) for rate in chosen for text in WAYS}
    runs = []
    for key, case in cases.items():
        at = RATES.index(key[1]) * len(WAYS) + WAYS.index(key[0])
        for number in range(ROUNDS):
            run = paced_run(case, number, 10 * (at + 1))
            late = Warning(FELL_BEHIND, "the last message came late", ("latency",))
            is_late = number < ROUNDS_BEHIND.get(key, 0)
            runs.append(warned(run, late) if is_late else run)
    points = tuple(Point(rate, tuple(cases[text, rate].case_id for text in WAYS)) for rate in RATES)
    sweep = Sweep("rate", RATES[0], RATES[-1], ROUNDS, steps=(points,))
    plan = plan_of(cases.values(), runs)
    return result_of(Plan(plan.cases, plan.rounds, plan.seed, sweep=sweep), runs)


def test_the_chart_and_the_table_agree_where_a_way_fell_behind(swept: Result) -> None:
    table = document_of(swept, published=False).sections[0].tables[0]
    marked = [[cell.endswith("!") for cell in row.cells[1:]] for row in table.rows]
    assert marked == [[False, False], [False, False], [False, True], [True, False]]
    chart = charts_of(swept)[0]
    assert chart.name == "latency-against-rate-median"
    drawn = {(row["way"], row["rate_per_s"]): row["kept_up"] for row in chart.rows}
    assert [[drawn[text, rate] == "no" for text in WAYS] for rate in RATES] == marked
    assert [key for key, kept_up in drawn.items() if kept_up == "up to here"] == [
        ("loop/nodelay", 100_000.0),
        ("loop/nagle", 10_000.0),
    ]


@pytest.mark.parametrize(
    ("figure", "names"),
    [
        ("latency_p50_us", ["median", "p99"]),
        ("latency_p99_us", ["p99", "median"]),
    ],
)
def test_the_first_chart_is_of_the_figure_that_has_a_limit_and_draws_it(
    swept: Result, figure: str, names: list[str]
) -> None:
    assert swept.plan.sweep is not None
    sweep = replace(swept.plan.sweep, limit=Limit(figure, 40.0))
    charts = charts_of(replace(swept, plan=replace(swept.plan, sweep=sweep)))
    against_rate = [each for each in charts if each.name.startswith("latency-against-rate-")]
    assert [each.name.removeprefix("latency-against-rate-") for each in against_rate] == names
    first, *others = against_rate
    assert charts[0] == first
    assert {row["limit_us"] for row in first.rows} == {40.0}
    assert "The dashed line is the limit, 40 µs." in first.text
    rules = [
        each for each in first.page_spec()["layer"] if "limit_us" in str(each["encoding"]["y"])
    ]
    assert [each["mark"]["type"] for each in rules] == ["rule"]
    assert all("limit_us" not in row for each in others for row in each.rows)


def test_a_ring_marks_the_rate_that_the_answer_says_is_sustained(swept: Result) -> None:
    """It kept up with higher ones, at which its latency was above the limit."""
    assert swept.plan.sweep is not None
    sweep = replace(swept.plan.sweep, limit=Limit("latency_p50_us", 35.0))
    limited = replace(swept, plan=replace(swept.plan, sweep=sweep))
    drawn = charts_of(limited)[0].rows
    ringed = {row["way"]: row["rate_per_s"] for row in drawn if row["kept_up"] == "up to here"}
    assert ringed == {"loop/nodelay": 10_000, "loop/nagle": 1_000}
    answer, *_ = answer_of(limited)
    for name, rate_per_s in ringed.items():
        assert f"{name} sustains {rate_per_s:,.0f}/s (" in answer


@pytest.mark.parametrize(("figure", "has_dashes"), [("p50", False), ("p99_9", True)])
def test_a_percentile_that_takes_more_samples_than_there_are_is_explained(
    swept: Result, figure: str, has_dashes: bool
) -> None:
    assert swept.plan.sweep is not None
    sweep = replace(swept.plan.sweep, limit=Limit(f"latency_{figure}_us", 40.0))
    limited = replace(swept, plan=replace(swept.plan, sweep=sweep))
    table = document_of(limited, published=False).sections[0].tables[0]
    assert all(UNKNOWN in row.cells[1] for row in table.rows) == has_dashes
    assert any("too few samples" in note for note in table.notes) == has_dashes


def test_of_few_samples_a_percentile_is_that_of_all_rounds_in_table_chart_and_answer(
    swept: Result,
) -> None:
    """Two rounds of seven were slow: by most rounds alone the ways would keep to the limit."""
    slow = {"latency_ns": histogram([10_000] * 150 + [500_000] * 50)}
    runs = [replace(run, histograms=slow) if run.round < 2 else run for run in swept.runs]
    assert swept.plan.sweep is not None
    sweep = replace(swept.plan.sweep, limit=Limit("latency_p99_us", 100.0))
    limited = result_of(replace(swept.plan, sweep=sweep), runs)
    table = document_of(limited, published=False).sections[0].tables[0]
    assert all(cell.startswith("500") for row in table.rows for cell in row.cells[1:])
    assert {round(float(row["median"] or 0)) for row in charts_of(limited)[0].rows} == {500}
    assert "none of the 2 ways is seen to keep to it at any rate" in answer_of(limited)[0]


def test_the_page_and_markdown_have_the_answer_and_the_table(swept: Result) -> None:
    named = Named("swept", swept)
    page, text = page_of([named], "1.2.3").html, report_markdown([named])
    table = document_of(swept, published=False).sections[0].tables[0]
    for sentence in answer_of(swept):
        assert f'<p class="sentence">{escape(sentence)}</p>' in page
        assert f"- {escaped(sentence)}\n" in text
    for row in table.rows:
        cells = "".join(f"<td>{cell}" for cell in row.cells[1:])
        assert f'<tr><th scope="row">{row.cells[0]}{cells}\n' in page
        assert f"| {' | '.join(map(escaped, row.cells))} |\n" in text
    assert re.search(r"<details>\s*<summary>The sweep</summary>", page)
    assert "### The sweep\n" in text


def test_tables_of_single_points_are_in_the_order_of_their_values(swept: Result) -> None:
    assert [case.rate_per_s for case in swept.plan.cases[::2]] != sorted(RATES)
    titles = [each.title or "" for each in document_of(swept, published=False).sections]
    shown = [rate for title in titles for rate in RATES if f"at {rate:,.0f}/s," in title]
    assert shown == sorted(RATES), titles


def test_the_charts_of_single_points_are_folded_and_those_of_the_sweep_are_not(
    swept: Result,
) -> None:
    charts = charts_of(swept)
    assert [each.title for each in charts if not each.is_detail] == [
        "Latency against rate: median",
        "Latency against rate: p99",
    ]
    assert any(each.is_detail for each in charts)
    page = page_of([Named("swept", swept)], "1.2.3").html
    before, folded = page.split('<details class="charts-folded">')
    assert "Latency against rate: p99</h2>" in before
    assert folded.count('<figure class="chart"') == sum(each.is_detail for each in charts)
    assert before.count('<figure class="chart"') == 2
    drawn = pictures([Named("swept", swept)], with_details=False)
    assert [name for name, _ in drawn] == [
        "latency-against-rate-median.svg",
        "latency-against-rate-p99.svg",
    ]


def test_a_sweep_of_another_parameter_has_a_chart_of_its_own_first() -> None:
    holds_ns = (1e4, 1e6, 1e5)
    cases = {ns: way(f"loop/coalesce:{ns / 1e3:.0f}us", 1_000) for ns in holds_ns}
    runs = [
        paced_run(case, number, ns / 1e3) for ns, case in cases.items() for number in range(ROUNDS)
    ]
    points = tuple(Point(ns, (case.case_id,)) for ns, case in cases.items())
    sweep = Sweep("hold", min(holds_ns), max(holds_ns), ROUNDS, steps=(points,))
    plan = plan_of(cases.values(), runs)
    chart, *others = charts_of(
        result_of(Plan(plan.cases, plan.rounds, plan.seed, sweep=sweep), runs)
    )
    assert (chart.title, chart.is_detail) == ("Median latency against hold", False)
    assert [(row["way"], row["value"]) for row in chart.rows] == [
        ("loop/coalesce", value) for value in (10.0, 100.0, 1_000.0)
    ]
    assert [row["median"] for row in chart.rows] == pytest.approx([10, 100, 1_000], rel=0.01)
    chart.file_spec()
    assert others
    assert all(each.is_detail for each in others)
