"""The charts of results as SVG, for READMEs and papers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import altair as alt
import vl_convert

from tinygram_bench.model.result import Named
from tinygram_bench.report.charts import charts_of

_NOT_IN_NAMES = re.compile(r"[^\w-]")
_CLIP = re.compile(r"\bclip\d+")
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""The version of Vega-Lite that specifications are written for, such as 6.1."""


def pictures(results: Sequence[Named], *, with_details: bool = True) -> Iterator[tuple[str, str]]:
    """A file's name and SVG for every chart; with several results, it begins with the result's.

    `with_details`: also charts that the page folds, such as those of a sweep's single points.
    """
    names = [_NOT_IN_NAMES.sub("_", each.name) for each in results]
    for at, (each, name) in enumerate(zip(results, names, strict=True)):
        own = name if names.count(name) == 1 else f"{name}-{at + 1}"
        prefix = f"{own}-" if len(results) > 1 else ""
        for chart in charts_of(each.result):
            if chart.is_detail and not with_details:
                continue
            svg = vl_convert.vegalite_to_svg(chart.file_spec(), vl_version=VEGA_LITE)
            yield f"{prefix}{chart.name}.svg", _with_own_clips(svg)


def _with_own_clips(svg: str) -> str:
    """The picture with its clips numbered from 1: Vega numbers them on from picture to picture."""
    numbers: dict[str, str] = {}
    return _CLIP.sub(lambda found: numbers.setdefault(found[0], f"clip{len(numbers) + 1}"), svg)
