"""What TLS costs streams and echo servers, for docs/how-to/measure-tls.md; in twelve minutes.

Flat out each way of a stream is measured with and without TLS: its rate, its records, what a
message is on the wire, and the CPU time of both ends. Other tables have messages of one byte,
messages at a rate at which nearly each is alone, and echo servers with one message in flight and
with many. Ways of a load take turns in slices, and ratios are the tool's own. A figure on which
the tool gives no verdict, for example because the receiver may be the limit, has a question mark.
"""

from __future__ import annotations

import argparse
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from pairs import SEED, show_environment
from published.stored import Cell, Column, Figure, Row
from published.tables import lines_of
from published.telling import store, take_into

from tinygram_bench import Plan, run
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model import result
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.verdicts.comparison import paired_ratios, verdict_on
from tinygram_bench.statistics.verdicts.doubts import barring
from tinygram_bench.statistics.workloads.loads import Load, way_of

CONGESTION_CONTROL = "cubic"
_ROUNDS, _DURATION_NS = 7, 2_000_000_000
_100_B = result.MessageBytes(100, 100)
_RATE, _CPU = "throughput_per_s", "cpu_s_per_million"
_OF_ASYNCIO = ("asyncio/nodelay", "asyncio/aiofastnet/nodelay", "asyncio/tick")
_LIBRARY, _ON_UVLOOP = "asyncio/tinygram/adaptive", "uvloop/tinygram/adaptive"
_SERVERS = (
    "asyncio/protocol",
    "asyncio/tinygram/protocol/adaptive",
    "asyncio/aiofastnet/protocol",
    "uvloop/protocol",
    "uvloop/tinygram/protocol/adaptive",
    "uvloop/aiofastnet/protocol",
    "threads/recv",
)
Pair = tuple[str, str]


class Shown(Struct, frozen=True):
    """A column: a figure of the case over TLS, or of the one that is plain."""

    title: str
    name: str
    figure: str
    decimals: int | None = None
    is_plain: bool = False

    @property
    def column(self) -> Column:
        return Column(self.title, self.name, self.decimals)


class Table(Struct, frozen=True):
    """A table of the page: the command that measures it, its options, its ways, and its columns.

    `ratios`: pairs of (case, baseline) that are compared over TLS, in a table of their own,
    `NAME-ratios`; on the figures of `compared`.
    """

    name: str
    command: str
    options: Mapping[str, Any]
    ways: tuple[str, ...]
    columns: tuple[Shown, ...]
    ratios: tuple[Pair, ...] = ()
    compared: tuple[Shown, ...] = (Shown("ratio", "ratio", _RATE),)


_COSTS = (
    Shown("records a message", "records", "records_per_message"),
    Shown("wire B a message", "wire_bytes", "wire_bytes_per_message"),
    Shown("sender's CPU over TLS, µs a message", "cpu_us", _CPU, 2),
)
TABLES = (
    Table(
        "streams",
        "stream",
        {"size": _100_B, "plain": True},
        (
            *("loop/nodelay", "loop/coalesce:10us", *_OF_ASYNCIO, _LIBRARY),
            *("uvloop/nodelay", "uvloop/aiofastnet/nodelay", _ON_UVLOOP),
        ),
        (
            Shown("without TLS, messages/s", "plain_per_s", _RATE, is_plain=True),
            Shown("over TLS", "tls_per_s", _RATE),
            *_COSTS,
            Shown("receiver's share of its core", "receiver_share", "receiver_cpu_share", 2),
        ),
        (*((_LIBRARY, each) for each in _OF_ASYNCIO), (_ON_UVLOOP, "uvloop/nodelay")),
    ),
    Table(
        "single-bytes",
        "stream",
        {"size": result.MessageBytes(1, 1)},
        (*_OF_ASYNCIO[::2], _LIBRARY),
        _COSTS,
        (("asyncio/nodelay", "asyncio/tick"), ("asyncio/nodelay", _LIBRARY)),
        (
            Shown("wire B a message", "wire_bytes", "wire_bytes_per_message", 1),
            Shown("sender's CPU a message", "cpu", _CPU, 1),
        ),
    ),
    Table(
        "paced",
        "stream",
        {"size": _100_B, "rate": [5_000]},
        (
            *("asyncio/nodelay", "asyncio/aiofastnet/nodelay", _LIBRARY),
            *("uvloop/nodelay", "uvloop/aiofastnet/nodelay", _ON_UVLOOP),
        ),
        (
            Shown("median latency, µs", "p50_us", "latency_p50_us", 1),
            Shown("records a message", "records", "records_per_message"),
        ),
    ),
    Table(
        "echoes",
        "echo",
        {"size": [256], "workers": 1, "depth": 1},
        _SERVERS,
        (
            Shown("messages/s", "tls_per_s", _RATE),
            Shown("server's CPU, µs a message", "cpu_us", _CPU, 1),
            Shown("median round trip, µs", "round_trip_us", "round_trip_p50_us", 1),
        ),
        (("asyncio/aiofastnet/protocol", "asyncio/protocol"),),
    ),
    Table(
        "gathered",
        "echo",
        {"size": [100], "workers": 5, "depth": 32, "reply": "per-message"},
        _SERVERS,
        (Shown("messages/s", "tls_per_s", _RATE),),
        (("uvloop/tinygram/protocol/adaptive", "uvloop/protocol"),),
    ),
)
"""In the order of the page."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    take_into(parser)
    parser.add_argument(
        "--only", choices=[each.name for each in TABLES], help="measure this table alone"
    )
    asked = parser.parse_args()
    into: Path | None = asked.into
    with cores_awake():
        show_environment(CONGESTION_CONTROL)
        for table in TABLES:
            if asked.only in (None, table.name):
                tell(table, into)
    return 0


def tell(
    table: Table, into: Path | None, rounds: int = _ROUNDS, duration_ns: int = _DURATION_NS
) -> None:
    """Measure a table and its ratios; print their rows, and store them where that is asked."""
    found = Found(_measured(table, rounds, duration_ns))
    columns = [each.column for each in table.columns]
    _told(into, table.name, "case", columns, [found.row(table, way) for way in found.ways])
    if table.ratios:
        columns = [each.column for each in table.compared]
        ratios = [found.ratio(table, *pair) for pair in table.ratios]
        _told(into, f"{table.name}-ratios", "over TLS", columns, ratios)


class Found:
    """The result of a table's command, way by way."""

    def __init__(self, found: result.Result) -> None:
        samples = samples_of(found.plan, found.runs)
        self._of: dict[tuple[str, bool], tuple[result.Summary, Sample]] = {
            (_name(each.case), Load.of(each.case).tls): (each, samples[each.case.case_id])
            for each in found.summaries
        }

    @property
    def ways(self) -> Sequence[str]:
        """The ways that were measured over TLS, in the order of the result."""
        return [way for way, is_tls in self._of if is_tls]

    def row(self, table: Table, way: str) -> Row:
        """The figures of a way; those that it has not are left out."""
        return Row(
            f"`{way}`",
            {
                each.name: cell
                for each in table.columns
                if (cell := self._cell(way, each)) is not None
            },
        )

    def ratio(self, table: Table, way: str, baseline: str) -> Row:
        """How many times the figures of the baseline a way has over TLS."""
        pair = self._of[baseline, True], self._of[way, True]
        found = {each.name: _times(each.figure, *pair) for each in table.compared}
        figures: dict[str, Cell] = {name: each for name, each in found.items() if each is not None}
        return Row(f"`{way}` ÷ `{baseline}`", figures)

    def _cell(self, way: str, shown: Shown) -> Cell:
        summary, _ = self._of[way, not shown.is_plain]
        found = summary.figures.get(shown.figure)
        if found is None:
            return None
        is_doubtful = barring(shown.figure, summary, took_turns=True) is not None
        return Figure(*_ends(found), is_doubtful=is_doubtful)


def _times(
    figure: str, baseline: tuple[result.Summary, Sample], case: tuple[result.Summary, Sample]
) -> Cell:
    """case ÷ baseline; None where nothing can be said. A count, which slices have not, is exact."""
    if not case[1].slices(figure):
        ratios = paired_ratios(baseline[1].values(figure), case[1].values(figure))
        return Figure(*_ends(figure_of(ratios))) if ratios else None
    verdict = verdict_on(figure, baseline, case)
    if verdict.ratio is None:
        return None
    return Figure(*_ends(verdict.ratio), is_doubtful=verdict.doubt is not None)


def _ends(found: result.Figure) -> tuple[float, float | None, float | None]:
    """What does not differ from round to round has no interval."""
    if found.low == found.high:
        return found.median, None, None
    return found.median, found.low, found.high


def _name(case: result.Case) -> str:
    """The way as `--only` names it: a server's buffer, of which there is one size, left out."""
    return way_of(case).partition(":64KiB")[0]


def _measured(table: Table, rounds: int, duration_ns: int) -> result.Result:
    asked: dict[str, Any] = {
        **table.options,
        "tls": True,
        "only": list(table.ways),
        "rounds": rounds,
        "duration": duration_ns,
        "congestion_control": CONGESTION_CONTROL,
        "seed": SEED,
        "quiet": True,
    }
    plan = Plan.stream(**asked) if table.command == "stream" else Plan.echo(**asked)
    return run(plan).stored


def _told(
    into: Path | None, name: str, first: str, columns: Sequence[Column], rows: Sequence[Row]
) -> None:
    print(f"\n{name}\n\n{lines_of(first, columns, rows)}", flush=True)
    store(into, "over_tls", name, first, columns, rows, CONGESTION_CONTROL, ssl.OPENSSL_VERSION)


if __name__ == "__main__":
    sys.exit(main())
