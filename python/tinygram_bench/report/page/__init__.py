"""A self-contained HTML page of results: answer, reasons, charts, tables and notes.

Laws: the page asks for nothing over the network, and its content policy forbids that; all text from
a result is escaped; what a chart draws is also a table and a download; the results are inside.
Where a page would be large, histograms are thinned (thinning.py); where that does not suffice, the
charts of a sweep's single points are left out, and then histograms and slices (condensing.py).
A section of the page is a block in page.html.jinja, and its values are in `_seen`.
"""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any
from urllib.parse import quote

import jinja2
import msgspec
import vl_convert
from markupsafe import Markup

from tinygram_bench.model.pages import element_of
from tinygram_bench.model.result import Named, Result
from tinygram_bench.report import document_of
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.charts.chart import Cell, Chart
from tinygram_bench.report.document import full_notes
from tinygram_bench.report.exports.pictures import VEGA_LITE
from tinygram_bench.report.page.condensing import condensed
from tinygram_bench.report.page.thinning import thinned
from tinygram_bench.report.surroundings import surroundings_of

LARGE_BYTES = 1_500_000
"""A page with more bytes is large."""
ANSWER_SENTENCES = 2
"""The number of sentences above the first chart; further ones can be unfolded."""

_IN_ADDRESSES = ",/:;@"
"""Characters that a URL may have unescaped, beside letters, digits and `-._~`."""
_GLOBALS = "window.vegaEmbed = vegaEmbed;"


class Page(msgspec.Struct, frozen=True):
    """A page, and whether its results lack histograms and slices, now or since an earlier page."""

    html: str
    is_condensed: bool


_Seen = dict[str, Any]
"""The values of a result for the template."""


class _Inside(msgspec.Struct, frozen=True):
    """The results that a page holds, and the elements that hold them."""

    results: Sequence[Named]
    packed: Markup

    @classmethod
    def of(cls, results: Sequence[Named]) -> _Inside:
        return cls(results, Markup("\n".join(map(_element, results))))


def _element(named: Named) -> str:
    """The packed result, packed well (which takes long) unless too large for a page anyway."""
    document = msgspec.json.encode(named.result)
    quickly = element_of(named.name, document, preset=0)
    return quickly if len(quickly) > 2 * LARGE_BYTES else element_of(named.name, document)


def page_of(results: Sequence[Named], version: str) -> Page:
    """The page of results, which must have summaries; `version`: that of this tinygram."""
    for inside, seen in _attempts(results):
        page = _page(inside, seen, version)
        if len(page.html.encode()) <= LARGE_BYTES:
            break
    return page


def _attempts(results: Sequence[Named]) -> Iterator[tuple[_Inside, Sequence[_Seen]]]:
    """What a page can have inside, and what it can show: everything, then less and less.

    First to go is what nobody reads on the page, then what the result file can show again.
    """
    seen = [_seen(each, at) for at, each in enumerate(results)]
    yield _Inside.of(results), seen
    thin = _Inside.of([Named(each.name, thinned(each.result)) for each in results])
    yield thin, seen
    if any(each["detail_groups"] for each in seen):
        seen = [_without_points(each) for each in seen]
        yield thin, seen
    small = [
        Named(each.name, condensed(each.result, (*shown["answer"], *shown["more_answer"])))
        for each, shown in zip(thin.results, seen, strict=True)
    ]
    yield (
        _Inside.of(small),
        [
            shown | {"remarks": surroundings_of(each.result).remarks}
            for each, shown in zip(small, seen, strict=True)
        ],
    )


def _page(inside: _Inside, seen: Sequence[_Seen], version: str) -> Page:
    drawn = {chart["id"]: chart["spec"] for each in seen for chart in each["charts"]}
    results = [each.result for each in inside.results]
    html = _template().render(
        results=seen,
        names=", ".join(each["name"] for each in seen),
        version=version,
        specs=_packed(json.dumps(drawn, separators=(",", ":"))),
        vega=_vega() if drawn else None,
        style=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
        embedded=inside.packed,
        is_thinned=any(each.is_thinned and not each.is_condensed for each in results),
        most=f"{LARGE_BYTES / 1e6:g} MB",
    )
    return Page(html, any(each.is_condensed for each in results))


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
        "csv": _csv_url(chart),
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


def _csv_url(chart: Chart) -> str:
    """The chart's table as a link that holds it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(chart.columns.values())
    writer.writerows([row[name] for name in chart.columns] for row in chart.rows)
    return f"data:text/csv;charset=utf-8,{quote(text.getvalue(), safe=_IN_ADDRESSES)}"


@cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return _packed(vl_convert.javascript_bundle(_GLOBALS, VEGA_LITE))


def _packed(text: str) -> str:
    """The text in gzip and base64, which browsers unpack, and which cannot end an element."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_text("page.html.jinja"))


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
