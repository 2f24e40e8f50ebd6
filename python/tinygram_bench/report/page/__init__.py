"""One HTML page of results that needs nothing from elsewhere: answer, why, charts, tables, notes.

Laws: the page asks for nothing over the network, and its content policy forbids that; all text from
a result is escaped; what a chart draws is also a table and a download; the results are inside,
and where these make a page large, their histograms are thinned (thinning.py).
A section of the page is a block in page.html.jinja, and its values are in `_seen`.
"""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
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
from tinygram_bench.report.page.thinning import thinned

LARGE_BYTES = 1_500_000
"""A page is large that has more."""
ANSWER_SENTENCES = 2
"""The number of sentences above the first chart; the others can be unfolded."""

_IN_ADDRESSES = ",/:;@"
"""What an address may have as it is, beside letters, digits and `-._~`."""
_GLOBALS = "window.vegaEmbed = vegaEmbed;"


class Page(msgspec.Struct, frozen=True):
    """A page, and whether histograms in it are thinned, now or when a page was made of them."""

    html: str
    is_thinned: bool


def page_of(results: Sequence[Named], version: str) -> Page:
    """The page; `version`: that of the tinygram that makes it."""
    seen = [_seen(each, at) for at, each in enumerate(results)]
    drawn = {chart["id"]: chart["spec"] for each in seen for chart in each["charts"]}
    html_with = partial(
        _template().render,
        results=seen,
        names=", ".join(each.name for each in results),
        version=version,
        specs=_packed(json.dumps(drawn, separators=(",", ":"))),
        vega=_vega() if drawn else None,
        style=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
    )
    page = _holding(results, html_with)
    if len(page.html.encode()) > LARGE_BYTES:
        results = [Named(each.name, thinned(each.result)) for each in results]
        page = _holding(results, html_with)
    return page


def _holding(results: Sequence[Named], html_with: Callable[..., str]) -> Page:
    """The page that has these results inside, and says at its end whether they are thinned."""
    is_thinned = any(each.result.is_thinned for each in results)
    return Page(html_with(embedded=_embedded(results), is_thinned=is_thinned), is_thinned)


def _embedded(results: Sequence[Named]) -> Markup:
    return Markup(
        "\n".join(element_of(each.name, msgspec.json.encode(each.result)) for each in results)
    )


def _seen(named: Named, at: int) -> dict[str, Any]:
    """What the template shows of a result; `at` makes its ids unique."""
    result = named.result
    document = document_of(result, published=False)
    charts = [_chart(chart, f"r{at}-{chart.name}") for chart in charts_of(result)]
    return {
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
        "notes": full_notes(document.notes, document.measured),
        "remarks": document.surroundings.remarks,
        "reading": document.surroundings.full,
        "sections": document.sections,
        "environment": tuple(_facts(result.environment)),
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
    """The charts next to each other that have the same title."""
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
    """Text as it is, numbers with five digits or all whole ones."""
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
    """In gzip and base64, which browsers unpack; nothing in it ends an element."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_text("page.html.jinja"))


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
