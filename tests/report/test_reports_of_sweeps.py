"""A sweep's answer, table and chart are in every form of its report, and say the same of a rate."""

from __future__ import annotations

import re

import pytest
from markupsafe import escape
from tests.support.experiments import paced_run, plan_of, result_of, warned, way

from tinygram_bench.model.result import Named, Plan, Result, Warning
from tinygram_bench.model.sweep import Point, Sweep
from tinygram_bench.report import answer_of, document_of
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.exports.markdown import escaped, report_markdown
from tinygram_bench.report.page import page_html
from tinygram_bench.statistics.recurring import FELL_BEHIND

ROUNDS = 7
RATES = (1_000.0, 10_000.0, 100_000.0, 1_000_000.0)
WAYS = ("loop/nodelay", "loop/nagle")
ROUNDS_BEHIND = {("loop/nodelay", 1_000_000.0): 7, ("loop/nagle", 10_000.0): 3} | {
    ("loop/nagle", 100_000.0): 4
}


@pytest.fixture(scope="module")
def swept() -> Result:
    cases = {(text, rate): way(text, rate) for rate in RATES for text in WAYS}
    runs = []
    for at, (key, case) in enumerate(cases.items()):
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


def test_the_page_and_markdown_have_the_answer_and_the_table(swept: Result) -> None:
    named = Named("swept", swept)
    page, text = page_html([named], "1.2.3"), report_markdown([named])
    table = document_of(swept, published=False).sections[0].tables[0]
    for sentence in answer_of(swept):
        assert f'<p class="sentence">{escape(sentence)}</p>' in page
        assert f"- {escaped(sentence)}\n" in text
    for row in table.rows:
        cells = "".join(f"<td>{cell}</td>" for cell in row.cells[1:])
        assert f'<th scope="row">{row.cells[0]}</th>{cells}</tr>' in page
        assert f"| {' | '.join(map(escaped, row.cells))} |\n" in text
    assert re.search(r"<details>\s*<summary>The sweep</summary>", page)
    assert "### The sweep\n" in text
