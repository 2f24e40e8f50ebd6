"""Reports of single workloads, a file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document
from tinygram_bench.report.workloads.echo import echo_document
from tinygram_bench.report.workloads.fanout import fanout_document
from tinygram_bench.report.workloads.rr import rr_document
from tinygram_bench.report.workloads.sizes import sizes_document
from tinygram_bench.report.workloads.stream import stream_document

REPORTS: Mapping[str, Callable[[Result, bool], Document]] = {
    "stream": stream_document,
    "rr": rr_document,
    "echo": echo_document,
    "fanout": fanout_document,
    "sizes": sizes_document,
}
"""Workload → the function that makes its report, with or without the published figures."""
