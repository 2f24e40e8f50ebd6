"""The latencies of all even rounds together: the p99 of rounds is the middle of short runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from claim.grid import OURS
from claim.judging.judge import Verdict
from claim.judging.samples import Samples
from tinygram_bench._native import Histogram
from tinygram_bench.model.value import Value


class Tail(Value, frozen=True):
    """Tail of a strategy in a cell, in ns: the p99 of the pooled latencies, and the longest."""

    cell: int
    strategy: str
    p99_ns: int
    max_ns: int


def tails_of(samples: Samples, verdicts: Iterable[Verdict]) -> tuple[Tail, ...]:
    """Ours and the rival's of each verdict on p99."""
    return tuple(
        tail
        for verdict in verdicts
        if verdict.figure == "p99"
        for tail in _tails(samples, verdict.cell, (OURS, verdict.rival))
    )


def _tails(samples: Samples, number: int, strategies: Sequence[str]) -> list[Tail]:
    tails = []
    for strategy in strategies:
        pooled = Histogram()
        for run in samples.of_strategy(number, strategy):
            if run.latency is not None:
                pooled.merge(Histogram.from_base64(run.latency))
        if pooled.count:
            tails.append(Tail(number, strategy, pooled.percentile_ns(99), pooled.max_ns))
    return tails
