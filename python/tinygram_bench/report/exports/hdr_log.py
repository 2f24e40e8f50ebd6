"""Histograms as a log for the tools of HdrHistogram (HistogramLogWriter, format 1.3).

A line is `Tag=TAG,start,length,greatest,histogram`: seconds, seconds, milliseconds, and the
encoding V2, compressed, in base64, as in the result file. A tag may have no comma and no space.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import ceil

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Named, Result, Run
from tinygram_bench.statistics.one_way import bound_us

_NOT_IN_TAGS = re.compile(r"[,\s\"]")
_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
_HEAD = (
    "#[Histogram log format version 1.3]",
    "#[Values are nanoseconds. A tag is RESULT:CASE:HISTOGRAM, a line of it is a round. A result "
    "does not say when a round began: a line starts when the earlier rounds of its case have had "
    "their run time.]",
)


def hdr_log(results: Sequence[Named]) -> str:
    """The log of every histogram of every good run. Raises ValueError where one cannot be read."""
    begun_s = {each.name: _begun_s(each.result) for each in results}
    known_s = [each for each in begun_s.values() if each is not None]
    first_s = min(known_s, default=None)
    lines = [*_HEAD, *_thinned(results), *_clocks(results), *_start(first_s), _LEGEND]
    for each in results:
        if each.result.is_condensed:
            continue
        lines += _lines(each, (begun_s[each.name] or first_s or 0.0) - (first_s or 0.0))
    return "\n".join(lines) + "\n"


def _thinned(results: Sequence[Named]) -> Iterator[str]:
    for each in results:
        if each.result.is_condensed:
            yield f"#[RESULT {_tag(each.name)} is from a large page, without its histograms.]"
        elif each.result.is_thinned:
            yield (
                f"#[RESULT {_tag(each.name)} is from a large page, whose histograms have fewer "
                "different values: the least, the greatest and those at the percentiles that are "
                "told are as measured, and those between are not.]"
            )


def _clocks(results: Sequence[Named]) -> Iterator[str]:
    for each in results:
        most_us = max((bound_us(summary.figures) for summary in each.result.summaries), default=0)
        if most_us:
            yield (
                f"#[RESULT {_tag(each.name)}: latency, last and queueing are between the clocks of "
                f"two hosts, which may be wrong by {ceil(most_us * 1_000)} ns.]"
            )


def _begun_s(result: Result) -> float | None:
    """The start of the measurement in seconds since the epoch; None where it is not known."""
    if result.started_at is None:
        return None
    return datetime.fromisoformat(result.started_at).astimezone(UTC).timestamp()


def _start(first_s: float | None) -> Iterator[str]:
    if first_s is not None:
        told = datetime.fromtimestamp(first_s, UTC).isoformat(timespec="seconds")
        told = told.replace("+00:00", "Z")
        yield f"#[StartTime: {first_s:.3f} (seconds since epoch), {told}]"


def _lines(named: Named, after_s: float) -> Iterator[str]:
    """The lines of a result that began `after_s` seconds after the log's start."""
    starts_ns: Counter[str] = Counter()
    for run in sorted(named.result.runs, key=lambda run: run.round):
        if run.failure is not None:
            continue
        length_ns = _length_ns(run)
        for name, text in run.histograms.items():
            histogram = Histogram.from_base64(text)
            if histogram.count:
                tag = _tag(f"{named.name}:{run.case_id}:{name}")
                start_s = after_s + starts_ns[run.case_id] / 1e9
                times = f"{start_s:.3f},{length_ns / 1e9:.3f}"
                yield f"Tag={tag},{times},{histogram.max_ns / 1e6:.6f},{text}"
        starts_ns[run.case_id] += length_ns


def _tag(text: str) -> str:
    return _NOT_IN_TAGS.sub("_", text)


def _length_ns(run: Run) -> int:
    return run.counters.get("run_time_ns") or 0
