"""A self-contained HTML page of results: answer, reasons, charts, tables and notes.

Laws: the page asks for nothing over the network, and its content policy forbids that; all text from
a result is escaped; what a chart draws is also a table and a download; the results are inside, or
the page says that they are not. What is done where a page would be large is in `_forms`.
A section of the page is a block in page.html.jinja, and its values are in `_seen`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import jinja2
import msgspec
import vl_convert
from markupsafe import Markup
from msgspec.structs import replace

from tinygram_bench.model.result import Named, Result
from tinygram_bench.model.store.pages import element_of
from tinygram_bench.report import document_of
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.charts.chart import Cell, Chart
from tinygram_bench.report.document import full_notes
from tinygram_bench.report.exports.pictures import VEGA_LITE
from tinygram_bench.report.page.condensing import condensed
from tinygram_bench.report.page.folding import Folded, packed
from tinygram_bench.report.page.thinning import thinned
from tinygram_bench.report.surroundings import surroundings_of

LARGE_BYTES = 1_500_000
"""A page with more bytes is large."""
_MOST = f"{LARGE_BYTES / 1e6:g} MB"
ANSWER_SENTENCES = 2
"""The number of sentences above the first chart; further ones can be unfolded."""
MOST_NOTES = 12
"""The number of notes that are not folded, the gravest."""
MOST_CHARTS = 6
"""The number of charts with one title that are not folded."""

_GLOBALS = "window.vegaEmbed = vegaEmbed;"


class Page(msgspec.Struct, frozen=True):
    """A page, and what must be said of it: empty where its results are inside."""

    html: str
    remark: str


_Seen = dict[str, Any]
"""The values of a result for the template."""


class _Form(msgspec.Struct, frozen=True):
    """What a page shows of its results, and the elements that hold them: none where `embedded` is
    empty; then `remark` says so. `packs_folded`: tables, reasons and notes that are folded are
    packed until they are unfolded.
    """

    results: Sequence[Named]
    seen: Sequence[_Seen]
    embedded: Markup
    packs_folded: bool = False
    remark: str = ""

    @classmethod
    def of(cls, results: Sequence[Named], seen: Sequence[_Seen]) -> _Form:
        return cls(results, seen, Markup("\n".join(map(_element, results))))


def _element(named: Named) -> str:
    """The packed result, packed well (which takes long) unless too large for a page anyway."""
    document = msgspec.json.encode(named.result)
    quickly = element_of(named.name, document, preset=0)
    return quickly if len(quickly) > 2 * LARGE_BYTES else element_of(named.name, document)


def page_of(results: Sequence[Named], version: str) -> Page:
    """The page of results, which must have summaries; `version`: that of this tinygram.

    It has at most `LARGE_BYTES`, unless not even a page without the results inside has.
    """
    for form in _forms(results):
        if len(form.embedded) <= LARGE_BYTES:
            page = _page(form, version)
            if len(page.html.encode()) <= LARGE_BYTES:
                break
    return page


def _forms(results: Sequence[Named]) -> Iterator[_Form]:
    """The forms that a page can have: with everything, then smaller and smaller.

    First to go is what nobody reads on the page (thinning.py), then what is there all the same for
    readers whose browsers have JavaScript, then what the result file can show again: the charts of
    a sweep's single points, histograms and slices (condensing.py), and last the results themselves.
    """
    seen = [_seen(each, at) for at, each in enumerate(results)]
    yield _Form.of(results, seen)
    form = _Form.of([Named(each.name, thinned(each.result)) for each in results], seen)
    yield form
    form = replace(form, packs_folded=True)
    yield form
    if any(each["detail_groups"] for each in seen):
        seen = [_without_points(each) for each in seen]
        form = replace(form, seen=seen)
        yield form
    small = [
        Named(each.name, condensed(each.result, (*shown["answer"], *shown["more_answer"])))
        for each, shown in zip(form.results, seen, strict=True)
    ]
    least = _Form.of(small, _with_remarks_of(small, seen))
    yield least
    yield replace(least, packs_folded=True)
    remark = _without_results([each.name for each in results], least.embedded)
    seen = [each | {"remarks": (*each["remarks"], f"This page {remark}.")} for each in seen]
    yield replace(form, seen=seen, embedded=Markup(), remark=remark)


def _with_remarks_of(results: Sequence[Named], seen: Sequence[_Seen]) -> list[_Seen]:
    return [
        shown | {"remarks": surroundings_of(each.result).remarks}
        for each, shown in zip(results, seen, strict=True)
    ]


def _without_results(names: Sequence[str], embedded: str) -> str:
    """What is said of a page whose results are not inside, on it and where it is written.

    `embedded`: the elements that would hold them, as small as they get.
    """
    return (
        "does not have its results inside: the figures of all runs take "
        f"{len(embedded) / 1e6:.1f} MB even when packed, and with the rest it would be larger than "
        f"{_MOST}. tinygram report and tinygram compare read the files that it was made from "
        f"({', '.join(names)})"
    )


def _page(form: _Form, version: str) -> Page:
    charts = [chart for each in form.seen for chart in each["charts"]]
    drawn = {
        each["id"]: {"spec": each["spec"], "columns": each["chart"].columns} for each in charts
    }
    results = [each.result for each in form.results]
    # Without charts a page has no script, which would put what is packed in its place.
    packs_folded = form.packs_folded and bool(drawn)
    folded = Folded(packs_folded)
    html = _template(folded).render(
        results=form.seen,
        names=", ".join(each["name"] for each in form.seen),
        version=version,
        charts=packed(json.dumps(drawn, separators=(",", ":"))),
        vega=_vega() if drawn else None,
        style=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
        embedded=form.embedded,
        is_thinned=any(each.is_thinned and not each.is_condensed for each in results),
        packs_folded=packs_folded,
        most=_MOST,
        most_charts=MOST_CHARTS,
        most_notes=MOST_NOTES,
    )
    return Page(html, form.remark)


def _seen(named: Named, at: int) -> _Seen:
    """The values for the template; `at` makes its ids unique."""
    result = named.result
    document = document_of(result, published=False)
    charts = [_chart(chart, f"r{at}-{chart.name}") for chart in charts_of(result)]
    seen = {
        "id": f"r{at}",
        "name": named.name,
        "command": result.command,
        "measured": _measured(result),
        "answer": document.answer[:ANSWER_SENTENCES],
        "more_answer": document.answer[ANSWER_SENTENCES:],
        "reasons": [each.text for each in document.reasons if not each.is_detail],
        "more_reasons": [each.text for each in document.reasons if each.is_detail],
        "charts": charts,
        "groups": _groups(each for each in charts[1:] if not each["chart"].is_detail),
        "detail_groups": _groups(each for each in charts[1:] if each["chart"].is_detail),
        "has_left_points_out": False,
        "notes": full_notes(document.notes, document.measured),
        "remarks": document.surroundings.remarks,
        "reading": document.surroundings.full,
        "sections": document.sections,
        "environment": tuple(_facts(result.environment)),
    }
    # The page of a condensed result has no charts of points, most of which have no data any more.
    return _without_points(seen) if result.is_condensed else seen


def _without_points(seen: _Seen) -> _Seen:
    """The same values without the charts of a sweep's single points."""
    return seen | {
        "charts": [each for each in seen["charts"] if not each["chart"].is_detail],
        "detail_groups": [],
        "has_left_points_out": bool(seen["detail_groups"]),
    }


def _chart(chart: Chart, id: str) -> dict[str, Any]:
    return {
        "id": id,
        "chart": chart,
        "title": chart.title,
        "spec": chart.page_spec(),
        "rows": [[_shown(row[name]) for name in chart.columns] for row in chart.rows],
    }


def _groups(charts: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Groups of neighbouring charts with the same title."""
    return [(title, [*of]) for title, of in groupby(charts, _title_of)]


def _title_of(chart: dict[str, Any]) -> str:
    title: str = chart["title"]
    return title


def _measured(result: Result) -> str:
    """`on 2026-11-24 at 15:11 UTC, host apollo`."""
    when = (result.started_at or "").removesuffix("Z").partition("T")
    parts = [f"on {when[0]} at {when[2][:5]} UTC"] if when[2] else []
    return ", ".join([*parts, *([f"host {result.host}"] if result.host else [])])


def _facts(environment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        if isinstance(value, Mapping):
            yield from _facts(value)
        elif value is None:
            yield name, "not known"
        elif isinstance(value, list):
            yield name, ", ".join(map(str, value))
        else:
            yield name, str(value)


def _shown(cell: Cell) -> str:
    """A cell as text: text as it is, numbers with five digits, or whole from 10,000 on."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    return f"{cell:,.0f}" if abs(cell) >= 10_000 else f"{cell:,.5g}"


@cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return packed(vl_convert.javascript_bundle(_GLOBALS, VEGA_LITE))


def _template(folded: Folded) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["folded"] = folded.place
    environment.globals["packed_contents"] = folded.packed
    return environment.from_string(_text("page.html.jinja"))


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
