"""A page of many runs: small all the same, and its result tells what the whole one tells."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest
from tests.support.measured.sweep import filled_sweep

from tinygram_bench._native import Histogram
from tinygram_bench.measurement.recording import summed_up
from tinygram_bench.model import store
from tinygram_bench.model.result import Named, Result
from tinygram_bench.model.store.pages import element_of
from tinygram_bench.report import document_of
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.comparing import answer, said
from tinygram_bench.report.page import LARGE_BYTES, page_of
from tinygram_bench.report.page.thinning import thinned
from tinygram_bench.statistics.changes.comparison import compare_results

STORED = Path(__file__).parents[2] / "model" / "stored"
RESULTS = (*sorted(path.stem for path in STORED.glob("*.json")), "sweep")


@cache
def result_called(name: str) -> Result:
    """One of `RESULTS`."""
    return filled_sweep(4, 5) if name == "sweep" else store.load(STORED / f"{name}.json")


@pytest.fixture(params=RESULTS)
def whole(request: pytest.FixtureRequest) -> Result:
    return result_called(request.param)


def with_histograms(result: Result, histograms: dict[str, str]) -> Result:
    """The result with these in each run, and unmarked."""
    runs = tuple(msgspec.structs.replace(run, histograms=histograms) for run in result.runs)
    return msgspec.structs.replace(result, runs=runs, is_thinned=False)


def packed_bytes(result: Result) -> int:
    return len(element_of("sweep", msgspec.json.encode(result)))


def test_a_large_sweep_has_a_small_page_that_says_what_it_left_out(tmp_path: Path) -> None:
    result = filled_sweep()
    assert packed_bytes(result) > 2 * packed_bytes(thinned(result))
    page = page_of([Named("sweep", result)], "1.2.3").html
    assert len(page.encode()) <= LARGE_BYTES
    assert "What lies between is in the result file alone." in page
    (tmp_path / "sweep.html").write_text(page)
    assert store.load(tmp_path / "sweep.html") == thinned(result)


def test_only_histograms_become_thinner(whole: Result) -> None:
    thin = thinned(whole)
    assert with_histograms(thin, {}) == with_histograms(whole, {})
    for run, thin_run in zip(whole.runs, thin.runs, strict=True):
        assert run.histograms.keys() == thin_run.histograms.keys()
        for name, text in run.histograms.items():
            assert len(thin_run.histograms[name]) <= len(text)


def test_a_result_is_marked_where_a_histogram_became_another(whole: Result) -> None:
    thin = thinned(whole)
    assert thin.is_thinned == (thin.runs != whole.runs)


def test_what_is_told_of_several_cases_together_is_left_as_it_is() -> None:
    sizes, paced = result_called("v1-sizes"), result_called("v1-stream-paced")
    assert thinned(sizes) == sizes
    times = paced.runs[0].histograms["latency_ns"]
    assert thinned(with_histograms(paced, {"latency_ns": times})).is_thinned
    of_links = with_histograms(paced, {"link_lateness_ns": times})
    assert thinned(of_links) == of_links


def test_what_is_told_of_each_run_stays(whole: Result) -> None:
    for run, thin_run in zip(whole.runs, thinned(whole).runs, strict=True):
        for name, text in run.histograms.items():
            before = Histogram.from_base64(text)
            after = Histogram.from_base64(thin_run.histograms[name])
            assert (before.count, before.min_ns, before.max_ns) == (
                *(after.count, after.min_ns, after.max_ns),
            )
            assert after.mean_ns == pytest.approx(before.mean_ns, rel=1e-12)
            for percentile in (50, 99, 99.9, 99.99):
                assert after.percentile_ns(percentile) == before.percentile_ns(percentile)


def test_reports_charts_and_comparisons_tell_the_same(whole: Result) -> None:
    """Also where they are made of the runs alone."""
    bare = msgspec.structs.replace(whole, summaries=(), verdicts=(), answer=())
    whole, thin = summed_up(bare), summed_up(thinned(bare))
    assert thin.answer == whole.answer
    assert document_of(thin, published=False) == document_of(whole, published=False)
    assert [each.rows for each in charts_of(thin)] == [each.rows for each in charts_of(whole)]
    one, other = compare_results(whole, whole), compare_results(whole, thin)
    assert answer(other) == answer(one)
    assert [said(each, other.names) for each in other.changes] == [
        said(each, one.names) for each in one.changes
    ]


def test_thinned_again_it_is_the_same(whole: Result) -> None:
    thin = thinned(whole)
    assert thinned(thin) == thin
