"""How many messages the library publishes to 5,000 subscribers, beside asyncio by hand.

Target: twice as many as `transport.write` for each subscriber and message on the stock loop. Four
messages are published at a time, as where there are several topics, or two, or one, where no
strategy that holds to the iteration's end has anything to put together. Without a target: the
library beside a program that joins by hand what is published together, that program beside one
that does not, which tells how much writing once brings, and io_uring beside epoll.
All ways of a load take turns in slices, messages of 100 bytes; ratios are the tool's own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace
from pairs import SEED, at_least, show_environment, shown
from published.stored import Asked, Cell, Column, Row, figure
from published.telling import asked_into, store, tell

from tinygram_bench import Plan, run
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model.result import Figure, Verdict
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.verdicts.comparison import verdict_on
from tinygram_bench.statistics.workloads.loads import way_of

_ROUNDS = 9
_SUBSCRIBERS = 5_000
_BY_HAND = "asyncio/protocol"
_LIBRARY = ("asyncio/tinygram/protocol/adaptive", "asyncio/tinygram/protocol/tick")
_FIGURE = "throughput_per_s"
_ASKED = 2.0
_JOINED = "asyncio/protocol/tick"
_LOADS: Mapping[int, Mapping[str, tuple[str, ...]]] = {
    4: {_BY_HAND: (*_LIBRARY, _JOINED), _JOINED: _LIBRARY},
    2: {_BY_HAND: (*_LIBRARY, _JOINED), _JOINED: _LIBRARY},
    1: {_BY_HAND: (*_LIBRARY, "native/epoll"), "native/epoll": ("native/io_uring",)},
}
"""By the messages that are published at a time: what is compared, beside what."""
_COLUMNS = (Column("ratio", "ratio", 2), Column("messages/s", "rates", 0))


def main() -> int:
    into = asked_into(__doc__)
    with cores_awake():
        show_environment("cubic")
        rows = [row for burst, pairs in _LOADS.items() for row in _compared(burst, pairs)]
        return store(into, "fan_out", "fan-out", "row", _COLUMNS, rows)


def _compared(burst: int, pairs: Mapping[str, tuple[str, ...]]) -> Iterator[Row]:
    """How many times as many messages one sends as another, all ways of the load side by side."""
    plan = Plan.fanout(
        subscribers=[_SUBSCRIBERS],
        burst=burst,
        only=[*dict.fromkeys(way for pair in pairs.items() for way in (pair[0], *pair[1]))],
        rounds=_ROUNDS,
        congestion_control="cubic",
        seed=SEED,
        quiet=True,
    )
    result = run(plan).stored
    samples = samples_of(result.plan, result.runs)
    found = {way_of(each.case): (each, samples[each.case.case_id]) for each in result.summaries}
    for baseline, others in pairs.items():
        for other in (each for each in others if each in found):
            rates = [found[way][0].figures[_FIGURE] for way in (other, baseline)]
            verdict = verdict_on(_FIGURE, found[baseline], found[other])
            is_asked = baseline == _BY_HAND and other in _LIBRARY
            asked = Asked(_ASKED) if is_asked else None
            yield _row(f"{other} ÷ {baseline}, {burst} at a time", verdict, rates, asked)


def _row(what: str, verdict: Verdict, rates: Sequence[Figure | None], asked: Asked | None) -> Row:
    figures: dict[str, Cell] = {"rates": [each.median for each in rates if each is not None]}
    if verdict.ratio is None or verdict.verdict == "cannot_say":
        return tell(Row(what, figures, asked), f"no verdict: {verdict.doubt}")
    figures["ratio"] = replace(figure(verdict.ratio), is_doubtful=verdict.has_no_size)
    is_reached = None if asked is None else at_least(verdict.ratio, _ASKED)
    return tell(Row(what, figures, asked, is_reached), shown(verdict.ratio))


if __name__ == "__main__":
    sys.exit(main())
