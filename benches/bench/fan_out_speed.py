"""The library publishes to 5,000 subscribers faster than asyncio by hand, and io_uring than epoll.

Target: 2 × the messages of `transport.write` for each subscriber on the stock loop. Four messages
are due at a time, as where several topics are published; two; and one, where no strategy that holds
to the iteration's end has anything to put together. What io_uring gains over epoll has no
target. All ways of a row take turns in slices, messages of 100 bytes; ratios are the tool's own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from pairs import SEED, at_least, show_environment, shown
from published.stored import Asked, Column, Row, figure
from published.telling import asked_into, store, tell

from tinygram_bench import Plan, run
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.verdicts.comparison import verdict_on
from tinygram_bench.statistics.workloads.loads import way_of

_ROUNDS = 9
_SUBSCRIBERS = 5_000
_BY_HAND = "asyncio/protocol"
_LIBRARY = ("asyncio/tinygram/protocol/adaptive", "asyncio/tinygram/protocol/tick")
_ASKED = 2.0
_LOADS: Mapping[int, Mapping[str, tuple[str, ...]]] = {
    4: {_BY_HAND: _LIBRARY},
    2: {_BY_HAND: _LIBRARY},
    1: {_BY_HAND: _LIBRARY, "native/epoll": ("native/io_uring",)},
}
"""By the messages that are due at a time: what is compared, beside what."""
_COLUMNS = (Column("ratio", "ratio", 2), Column("messages/s", "rates", 0))


def main() -> int:
    into = asked_into(__doc__)
    with cores_awake():
        show_environment("cubic")
        rows = [
            row
            for burst, ways in _LOADS.items()
            for baseline, others in ways.items()
            for row in _compared(burst, baseline, others)
        ]
        return store(into, "bench.fan_out_speed", "fan-out", "row", _COLUMNS, rows)


def _compared(burst: int, baseline: str, others: tuple[str, ...]) -> Iterator[Row]:
    """How many times as many messages each of the others sends, all side by side."""
    plan = Plan.fanout(
        subscribers=[_SUBSCRIBERS],
        burst=burst,
        only=[baseline, *others],
        rounds=_ROUNDS,
        congestion_control="cubic",
        seed=SEED,
        quiet=True,
    )
    result = run(plan).stored
    samples = samples_of(result.plan, result.runs)
    found = {way_of(each.case): (each, samples[each.case.case_id]) for each in result.summaries}
    for other in others:
        verdict = verdict_on("throughput_per_s", found[baseline], found[other])
        rates = [found[way][0].figures["throughput_per_s"].median for way in (other, baseline)]
        what = f"{other} ÷ {baseline}, {burst} at a time"
        asked = Asked(_ASKED) if baseline == _BY_HAND else None
        figures = {"rates": [*rates]}
        if verdict.ratio is None or verdict.doubt is not None:
            yield tell(Row(what, figures, asked), f"no verdict: {verdict.doubt}")
            continue
        is_reached = None if asked is None else at_least(verdict.ratio, _ASKED)
        row = Row(what, {"ratio": figure(verdict.ratio), **figures}, asked, is_reached)
        yield tell(row, f"{shown(verdict.ratio)}, {rates[0]:,.0f} and {rates[1]:,.0f}/s")


if __name__ == "__main__":
    sys.exit(main())
