"""The page: whole, small, honest about what it shows, and safe whatever a result is called."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.experiments import (
    failed,
    flat_out_run,
    paced_run,
    plan_of,
    result_of,
    warned,
    way,
)

from tinygram_bench.model import store
from tinygram_bench.model.result import Named, Warning
from tinygram_bench.report import answer_of
from tinygram_bench.report import page as module
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.page import MOST_CHARTS, MOST_NOTES, page_of

STORED = sorted((Path(__file__).parents[2] / "model" / "stored").glob("*.json"))
MAX_BYTES = 1_500_000
HOSTILE = "<script>alert(1)</script>\"'&amp;--><!--"


class Elements(HTMLParser):
    """Every element of a page as (name, attributes, text in it up to the next tag)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            name, attributes, text = self.found[-1]
            self.found[-1] = (name, attributes, text + data)

    def texts(self, tag: str) -> list[str]:
        return [" ".join(text.split()) for name, _, text in self.found if name == tag]

    def with_attribute(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes, _ in self.found if name in attributes]


def unpacked(elements: Elements, id: str) -> Any:
    """What is packed in an element for the script."""
    [packed] = [text for _, attributes, text in elements.found if attributes.get("id") == id]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@pytest.fixture(scope="module")
def results() -> list[Named]:
    return [Named(path.stem, store.load(path)) for path in STORED]


@pytest.fixture(scope="module")
def page(results: list[Named]) -> str:
    return page_of(results, "1.2.3").html


def test_it_reads_back_as_the_results_that_it_shows(
    tmp_path: Path, page: str, results: list[Named]
) -> None:
    path = tmp_path / "page.html"
    path.write_text(page)
    assert list(store.load_all(path)) == results


def test_it_asks_for_nothing_and_is_small(page: str) -> None:
    assert len(page.encode()) <= MAX_BYTES
    assert "What lies between is in the result" not in page
    elements = Elements(page)
    addresses = [
        address
        for name in ("src", "href", "srcset", "action")
        for attributes in elements.with_attribute(name)
        if (address := attributes[name]) is not None
    ]
    assert addresses
    assert all(each.startswith(("#", "data:")) for each in addresses)
    [policy] = [each["content"] for each in elements.with_attribute("http-equiv")]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "unsafe-eval" not in policy


def test_each_result_begins_with_two_sentences_of_its_answer(
    page: str, results: list[Named]
) -> None:
    elements = Elements(page)
    first = [sentence for each in results for sentence in answer_of(each.result)[:2]]
    shown = [
        " ".join(text.split())
        for _, attributes, text in elements.found
        if attributes.get("class") == "sentence"
    ]
    assert shown == first
    assert [text for text in elements.texts("h2") if text.startswith("v1-")] == [
        each.name for each in results
    ]


def test_every_chart_has_its_specification_a_table_and_a_download(
    page: str, results: list[Named]
) -> None:
    elements = Elements(page)
    charts = [chart for each in results for chart in charts_of(each.result)]
    packed = unpacked(elements, "charts")
    assert len([each for each in elements.with_attribute("role") if each["role"] == "img"]) == len(
        charts
    )
    downloads = [each["data-csv"] for each in elements.with_attribute("data-csv")]
    assert downloads == [each.name for each in charts]
    for chart, found in zip(charts, packed.values(), strict=True):
        assert found["columns"] == chart.columns
        assert found["spec"]["datasets"]["rows"] == [dict(row) for row in chart.rows]
        assert chart.title in " ".join(elements.texts("caption"))


def test_what_is_packed_is_what_stands_in_other_pages(
    results: list[Named], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGE_BYTES", len(page.encode()) - 1)
    thin = page_of(results, "1.2.3").html
    monkeypatch.setattr(module, "LARGE_BYTES", len(thin.encode()) - 1)
    made = page_of(results, "1.2.3").html
    whole, small = Elements(thin), Elements(made)
    assert "Charts, downloads and most of what is folded need JavaScript" in made
    places = [str(each["data-packed"]) for each in small.with_attribute("data-packed")]
    contents = unpacked(small, "folded")
    assert places == [str(at) for at in range(len(contents))]
    packed = Elements("".join(contents))
    for tag in ("caption", "th", "td", "li"):
        left = small.texts(tag)
        assert sorted([*packed.texts(tag), *left]) == sorted(whole.texts(tag))
    # Those of the environments stay in their places.
    assert len(small.texts("table")) == len(results)


def test_of_many_charts_and_notes_the_first_are_not_folded() -> None:
    rates = [float(1_000 * (at + 1)) for at in range(MOST_CHARTS + 2)]
    cases = [way("loop/nodelay", rate) for rate in rates]
    runs = [paced_run(case, number, 10) for case in cases for number in range(6)]
    late = [Warning(f"late_{at}", f"late by {at} µs") for at in range(MOST_NOTES + 3)]
    runs = [warned(run, *late) if run.case_id == cases[0].case_id else run for run in runs]
    made = page_of([Named("rates", result_of(plan_of(cases, runs), runs))], "1.2.3").html
    first, _, folded = made.partition("<summary>2 more charts</summary>")
    assert first.count('id="r0-latency-median-') == MOST_CHARTS
    assert folded.partition("</section>")[0].count('id="r0-latency-median-') == 2
    notes = made.partition('id="r0-notes"')[2]
    told, more = notes.split("<summary>3 more notes, less grave</summary>")
    assert (told.count("late by"), more.count("late by")) == (MOST_NOTES, 3)


def test_every_warning_and_fact_is_there(page: str, results: list[Named]) -> None:
    elements = Elements(page)
    text, facts = elements.texts("li"), elements.texts("th")
    for each in results:
        for name in each.result.environment:
            if name != "sysctls":
                assert name in facts
        for summary in each.result.summaries:
            for warning in summary.warnings:
                if warning.code != "two_modes":
                    assert any(warning.message in shown for shown in text)


def test_nothing_in_a_result_becomes_markup(tmp_path: Path) -> None:
    path = next(path for path in STORED if "paced" in path.name)
    document = path.read_text().replace('"coalesce:10us"', json.dumps(HOSTILE))
    (tmp_path / "a.json").write_text(document)
    hostile = store.load(tmp_path / "a.json")
    hostile = msgspec.structs.replace(hostile, command=("tinygram", HOSTILE), host=HOSTILE)
    page = page_of([Named(HOSTILE, hostile)], "1.2.3").html
    elements = Elements(page)
    plain = Elements(page_of([Named("a", store.load(path))], "1.2.3").html)
    assert len(elements.texts("script")) == len(plain.texts("script"))
    assert "alert" not in " ".join(
        text
        for name, attributes, text in elements.found
        if name == "script" and "type" not in attributes
    )
    assert json.dumps(HOSTILE)[1:-1] in json.dumps(unpacked(elements, "charts"))
    (tmp_path / "a.html").write_text(page)
    assert store.load_all(tmp_path / "a.html") == (Named(HOSTILE, hostile),)


def test_names_of_elements_are_unique_and_headings_go_down_by_one(page: str) -> None:
    elements = Elements(page)
    ids = [each["id"] for each in elements.with_attribute("id")]
    assert len(set(ids)) == len(ids)
    targets = [str(each["href"])[1:] for each in elements.with_attribute("href")]
    assert {each for each in targets if not each.startswith("ata:")} <= set(ids)
    levels = [int(name[1]) for name, _, _ in elements.found if name in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_a_result_without_figures_has_a_page_that_says_so(tmp_path: Path) -> None:
    case = way("loop/nodelay")
    results = [
        Named("nothing ran", result_of(plan_of([case], []), [])),
        Named("all failed", result_of(plan_of([case], []), [failed(flat_out_run(case, 0, 1))])),
    ]
    page = page_of(results, "1.2.3").html
    elements = Elements(page)
    assert elements.texts("figure") == []
    assert "connection reset" in " ".join(elements.texts("li"))
    assert any("nothing ran" in text for text in elements.texts("p"))
    (tmp_path / "a.html").write_text(page)
    assert list(store.load_all(tmp_path / "a.html")) == results
