"""A page of so many runs that only their figures have room on it: it tells the same of them."""

from __future__ import annotations

import lzma
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest
from markupsafe import escape
from msgspec.structs import replace
from tests.support.experiments import failed, histogram, result_of
from tests.support.measured.sweep import filled_sweep

from tinygram_bench.measurement.recording import summed_up
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import LinkFacts, Named, Result, Run
from tinygram_bench.model.store.columns import in_columns
from tinygram_bench.report import answer_of, document_of, page
from tinygram_bench.report.charts import OF_SWEEPS, charts_of
from tinygram_bench.report.comparing import answer, said
from tinygram_bench.report.document import Document
from tinygram_bench.report.exports.hdr_log import hdr_log
from tinygram_bench.report.page import LARGE_BYTES, page_of
from tinygram_bench.report.page.condensing import condensed
from tinygram_bench.report.page.thinning import thinned
from tinygram_bench.report.surroundings import surroundings_of
from tinygram_bench.statistics.changes.comparison import compare_results
from tinygram_bench.statistics.links import links_of

STORED = Path(__file__).parents[2] / "model" / "stored"
RESULTS = (*sorted(path.stem for path in STORED.glob("*.json")), "sweep")
SAID = "In the page that this result is in are the figures of each run, and not the histograms"
NOT_INSIDE = "This page does not have its results inside"
POINTS_LEFT_OUT = "The charts of what was measured at each point are left out"


def slower_in_slices(result: Result) -> Result:
    """The second way has twice the latency in each slice, and in whole rounds about the same."""
    second = result.plan.cases[1].strategy
    cases = {case.case_id for case in result.plan.cases if case.strategy == second}
    runs = [
        replace(run, slices=run.slices | {"latency_p50_us": _doubled(run)})
        if run.case_id in cases
        else run
        for run in result.runs
    ]
    return result_of(result.plan, runs)


def _doubled(run: Run) -> tuple[float, ...]:
    return tuple(2 * each for each in run.slices["latency_p50_us"] if each is not None)


@cache
def result_called(name: str) -> Result:
    """One of `RESULTS`."""
    if name == "sweep":
        return summed_up(slower_in_slices(filled_sweep(2, 5, rounds=7, slices=99)))
    return summed_up(store.load(STORED / f"{name}.json"))


@pytest.fixture(params=RESULTS)
def whole(request: pytest.FixtureRequest) -> Result:
    return result_called(request.param)


def small(result: Result) -> Result:
    return condensed(result, answer_of(result))


def without_remarks(document: Document) -> Document:
    return replace(document, surroundings=replace(document.surroundings, remarks=()))


def page_bytes(text: str) -> int:
    return len(text.encode())


def test_a_long_sweep_has_a_small_page_with_its_answer_charts_and_tables(
    tmp_path: Path,
) -> None:
    result = filled_sweep(points=2, slices=300)
    made = page_of([Named("sweep", result)], "1.2.3")
    assert not made.remark
    assert page_bytes(made.html) <= LARGE_BYTES
    for told in (*answer_of(result), SAID, POINTS_LEFT_OUT):
        assert escape(told) in made.html
    for chart in charts_of(result):
        assert (f'id="r0-{chart.name}"' in made.html) is not chart.is_detail
    (tmp_path / "sweep.html").write_text(made.html)
    read = store.load(tmp_path / "sweep.html")
    assert read == condensed(thinned(result), answer_of(result))
    assert page_of([Named("sweep", read)], "1.2.3").html == made.html


def test_a_page_leaves_out_no_more_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """First histograms become thinner, then tables are packed; then points go, slices and
    histograms, and last the results.
    """
    result = Named("sweep", filled_sweep(2, 2))

    def made(most_bytes: int) -> page.Page:
        monkeypatch.setattr(page, "LARGE_BYTES", most_bytes)
        return page_of([result], "1.2.3")

    whole = made(LARGE_BYTES)
    thin = made(page_bytes(whole.html) - 1)
    packed = made(page_bytes(thin.html) - 1)
    brief = made(page_bytes(packed.html) - 1)
    least = made(page_bytes(brief.html) - 1)
    both = made(page_bytes(least.html) - 1)
    bare = made(page_bytes(both.html) - 1)
    pages = [whole, thin, packed, brief, least, both, bare]
    left_out = {
        "What lies between": (thin, packed, brief),
        'id="folded"': (packed, brief, both, bare),
        POINTS_LEFT_OUT: (brief, least, both, bare),
        SAID: (least, both),
        NOT_INSIDE: (bare,),
    }
    for text, those in left_out.items():
        assert [text in each.html for each in pages] == [each in those for each in pages], text
    assert [not each.remark for each in pages] == [True] * 6 + [False]


def test_a_page_without_its_results_shows_the_same_and_names_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = result_called("sweep")
    monkeypatch.setattr(page, "LARGE_BYTES", 1)
    made = page_of([Named("a sweep", result)], "1.2.3").html
    assert re.search(
        r"This page does not have its results inside: the figures of all runs take \d\.\d MB even "
        r"when packed, and with the rest it would be larger than 1\.5 MB\. tinygram report and "
        r"tinygram compare read the files that it was made from \(a sweep\)\.",
        made,
    )
    for told in answer_of(result):
        assert escape(told) in made
    for chart in charts_of(result):
        assert (f'id="r0-{chart.name}"' in made) is not chart.is_detail
    (tmp_path / "a.html").write_text(made)
    with pytest.raises(UsageError, match="a page that holds no complete result"):
        store.load(tmp_path / "a.html")


def test_reports_tell_the_same_and_what_is_in_the_result_file_alone(whole: Result) -> None:
    told, before = (document_of(each, published=False) for each in (small(whole), whole))
    assert without_remarks(told) == without_remarks(before)
    more = told.surroundings.remarks[len(before.surroundings.remarks) :]
    assert [each.startswith(SAID) for each in more] == [True] * small(whole).is_condensed


def test_the_order_of_two_ways_is_told_as_their_slices_have_it() -> None:
    """The rounds' own figures, which are left, would tell none."""
    whole = result_called("sweep")
    first, second = dict.fromkeys(case.strategy for case in whole.plan.cases)
    said = f"loop/{first} is faster than loop/{second} at 5 of 5 points"
    assert any(said in sentence for sentence in answer_of(whole))
    assert answer_of(small(whole)) == answer_of(whole)
    without_slices = replace(whole, runs=tuple(replace(run, slices={}) for run in whole.runs))
    assert answer_of(without_slices) != answer_of(whole)


def test_comparisons_tell_the_same(whole: Result) -> None:
    same = compare_results(whole, whole)
    for before, after in ((whole, small(whole)), (small(whole), whole)):
        found = compare_results(before, after)
        assert answer(found) == answer(same)
        assert [said(each, found.names) for each in found.changes] == [
            said(each, same.names) for each in same.changes
        ]


def test_the_charts_that_are_left_are_the_same(whole: Result) -> None:
    before = {each.name: each.rows for each in charts_of(whole)}
    after = {each.name: each.rows for each in charts_of(small(whole))}
    assert after.items() <= before.items()
    gone = before.keys() - after.keys()
    assert all("percentiles" in name or "timeline" in name for name in gone)
    assert {chart.name for made in OF_SWEEPS for chart in made(whole)} <= after.keys()


def test_summaries_verdicts_counters_and_warnings_stay(whole: Result) -> None:
    left = small(whole)
    assert (left.summaries, left.verdicts) == (whole.summaries, whole.verdicts)
    for run, before in zip(left.runs, whole.runs, strict=True):
        assert (run.counters, run.warnings) == (before.counters, before.warnings)


def test_in_columns_many_runs_take_less_room() -> None:
    rows = msgspec.json.encode(small(filled_sweep(points=2, slices=1)))
    assert len(lzma.compress(in_columns(rows))) < 0.9 * len(lzma.compress(rows))


def test_condensed_again_it_is_the_same(whole: Result) -> None:
    left = small(whole)
    assert small(left) == left
    assert thinned(left) == left
    assert msgspec.json.decode(msgspec.json.encode(left), type=Result) == left


def test_what_is_told_of_several_cases_together_is_left_as_it_is() -> None:
    sizes = result_called("v1-sizes")
    assert small(sizes) is sizes


def test_how_late_a_link_was_is_told_of_all_runs_together() -> None:
    whole = result_called("v1-stream-paced")
    facts = LinkFacts(
        meaning="rtt=1ms",
        backend="relay",
        device="tun",
        rtt_ns=1_000_000,
        bandwidth_bits_per_s=None,
        jitter_ns=0,
        loss=0.0,
        queue_bytes=None,
        mtu_bytes=1_500,
        device_queue_packets=0,
        has_offload=False,
        is_rootless=True,
        asked_rtt_ns=None,
        found_rtt_ns=None,
        left_rtt_ns=None,
        excess_ns=None,
    )
    late = [
        replace(
            run,
            link=facts,
            histograms=run.histograms | {"link_lateness_ns": histogram([1_000 * (at + 1)] * 99)},
        )
        for at, run in enumerate(whole.runs)
    ]
    over_link = summed_up(replace(whole, runs=tuple(late)))
    assert links_of(over_link)[0].late_max_us > links_of(over_link)[0].late_p50_us  # type: ignore[operator]
    assert links_of(small(over_link)) == links_of(over_link)
    assert [len(run.histograms) for run in small(over_link).runs] == [1] + [0] * (len(late) - 1)


def test_of_a_run_that_failed_nothing_is_told() -> None:
    whole = result_called("sweep")
    broken = result_of(whole.plan, [failed(whole.runs[0]), *whole.runs[1:]])
    left = small(broken)
    assert left.runs[0].figures == {}
    assert without_remarks(document_of(left, published=False)) == without_remarks(
        document_of(broken, published=False)
    )


def test_a_log_has_no_line_of_it_and_says_so() -> None:
    left = small(result_called("v1-stream-paced"))
    log = hdr_log([Named("a", left)])
    assert "#[RESULT a is from a large page, without its histograms.]" in log
    assert "Tag=" not in log


def test_nothing_is_said_of_a_whole_result(whole: Result) -> None:
    assert not any(each.startswith(SAID) for each in surroundings_of(whole).remarks)
