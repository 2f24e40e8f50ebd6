"""Message size × server of `echo`: what each server echoes, beside the best at that size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import altair as alt

from tinygram_bench.model.result import Case, Result
from tinygram_bench.report.charts.chart import BARRED, Chart, Data, Drawing, Row, layered, tooltips
from tinygram_bench.report.charts.ways import barred, fields_of, told
from tinygram_bench.report.numbers import rate, size
from tinygram_bench.statistics.workloads.loads import is_faulty, is_limit

FIGURE = "throughput_per_s"
COLUMNS = {
    "way": "server",
    "size": "message size",
    "throughput_per_s": "messages per second",
    "share": "share of the best",
    **BARRED,
}
_TEXT = (
    "What each server echoes at each message size, in messages per second; the darker, the closer "
    "to the best one at that size. Limits and servers with a fault are shown, and are not the best."
)


def echo_charts(result: Result) -> Iterator[Chart]:
    """One chart, where echo was measured with several message sizes."""
    rows: list[Row] = []
    for field in fields_of(result):
        if field.entrants[0].case.workload != "echo":
            return
        found = {
            each.label: (each, figure.median)
            for each in field.entrants
            if (figure := each.summary.figures.get(FIGURE)) is not None
        }
        ours = [value for each, value in found.values() if not _is_apart(each.case)]
        if not ours:
            continue
        rows += [
            {
                "way": label,
                "size": size(each.case.message_bytes.max),
                "throughput_per_s": value,
                "share": value / max(ours),
                "shown_share": min(1.0, value / max(ours)),
                "text": rate(value) + (" ?" if is_barred == "yes" else ""),
                "is_barred": is_barred,
            }
            for label, (each, value) in found.items()
            for is_barred in [barred(each.summary, FIGURE)]
        ]
    if len({row["size"] for row in rows}) > 1:
        name, title = "echo-sizes", "Message size × server"
        draw = partial(_draw, count=len({row["way"] for row in rows}))
        yield Chart(name, title, told(_TEXT, rows), COLUMNS, tuple(rows), draw)


def _draw(data: Data, count: int) -> Drawing:
    base = alt.Chart(data, height=26 * count).encode(
        x=alt.X("size:N", sort=None, title="message size", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("way:N", sort=None, title=None, axis=alt.Axis(labelLimit=210)),
        tooltip=tooltips(COLUMNS, "way", "size", *BARRED),
    )
    is_dark = "datum.shown_share > 0.55"
    return layered(
        base.mark_rect(cornerRadius=3, stroke=None).encode(
            color=alt.Color(
                "shown_share:Q",
                title="share of the best",
                scale=alt.Scale(domain=[0, 1], range=["#EAF3FA", "#0072B2"]),
                legend=None,
            )
        ),
        base.mark_text(fontSize=11).encode(
            text="text:N", color=alt.condition(is_dark, alt.value("white"), alt.value("black"))
        ),
    )


def _is_apart(case: Case) -> bool:
    return is_limit(case) or is_faulty(case)
