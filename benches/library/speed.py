"""The library is as fast as promised: each row is a ratio to what one would use instead.

All sides of a group are up side by side in a round, started fresh, and take turns in slices of 20
ms, in a new random order each cycle (turns.py). A side is a process of its own on the sender's
core; its other end is on another core, or on the same where the row says one core. A ratio comes
from two slices of one cycle, its median is the round's, and shown are the median over the rounds
and its interval. How many rounds there are is fixed beforehand, and they are looked at once, at
their end; fewer than six give no verdict. Messages are of 100 bytes, over loopback; what each side
does is in `sides/`. `--only TEXT` leaves the rows that have the text; `--run SIDE` shows what one
side costs, and its ratio to itself. The exit status is 0 when every row is reached.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from library.ends import FLAT_OUT, PACED, PING_PONG, SERVED, SERVED_SINGLY, TLS, Kind
from library.sides.sending import CONGESTION_CONTROL, OLDER, older_version
from library.turns import Costs, cost_of, ratio_of, rounds
from pairs import show_environment, shown
from published import stored
from published.stored import Asked, Column
from published.telling import store, take_into, tell

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model.result import Figure

_ROUNDS = 9
_FEWEST_ROUNDS = 6
_CYCLES = 12
_CALM_CYCLES = 40
"""The cycles of rows that must not be worse: a smaller difference is looked for."""
_NOT_WORSE = 1.05
_COLUMNS = (Column("ratio", "ratio", 3), Column("ns", "ns", 0))


@dataclass(frozen=True)
class Row:
    """Two sides of a group; `at_least`: ours is so many times as fast; None: it is not worse.

    Not worse: the interval's upper end is at most `at_most`.
    """

    text: str
    ours: str
    base: str
    at_least: float | None = None
    at_most: float = _NOT_WORSE

    def ratio(self, rounds: Sequence[Costs]) -> Figure:
        """Base ÷ ours where more is better; ours ÷ base where it must not be worse."""
        above, below = (self.ours, self.base) if self.at_least is None else (self.base, self.ours)
        return ratio_of(rounds, above, below)

    def is_reached(self, ratio: Figure) -> bool:
        """A promised speed by the median, no loss by the interval's upper end."""
        if self.at_least is None:
            return ratio.high <= self.at_most
        return ratio.median >= self.at_least


@dataclass(frozen=True)
class Group:
    """Sides that take turns, each a program of `sides/` with its words, and their rows."""

    kind: Kind
    sides: dict[str, str]
    rows: tuple[Row, ...]


def _ways(program: str, *ways: str) -> dict[str, str]:
    return {way: f"{program} {way}" for way in ways}


def _served(loop: str, at_least: float) -> Group:
    sides = {
        "protocol": f"server {loop} directly",
        "tinygram": f"server {loop} tinygram",
        "ceiling": "plain_server",
    }
    text = f"{loop} server, 64 pipelined requests"
    return Group(
        SERVED,
        sides,
        (
            Row(f"{text} ÷ protocol server", "tinygram", "protocol", at_least),
            Row(f"{text}: what the client can ask ÷ answered", "ceiling", "tinygram", 1.2),
        ),
    )


def _parted() -> Group:
    """On asyncio alone: beside uvloop's server the client would be what limits."""
    sides = {
        "one": "server asyncio tinygram",
        "two": "server asyncio tinygram parted",
        "ceiling": "plain_server",
    }
    text = "asyncio server, a request at a time"
    return Group(
        SERVED_SINGLY,
        sides,
        (
            Row(f"{text}: header and body in two writes ÷ in one", "two", "one", at_most=1.01),
            Row(f"{text}: what the client can ask ÷ answered", "ceiling", "one", 1.2),
        ),
    )


def _calm(kind: Kind, program: str, text: str) -> Group:
    """A program that must not be slower; `WAY` in it is ours and what it replaces."""
    sides = {way: program.replace("WAY", way) for way in ("directly", "tinygram")}
    return Group(kind, sides, (Row(f"{text} ÷ direct write", "tinygram", "directly"),))


_LOOPS = ("asyncio", "uvloop")
_RUNTIMES = ("loop", *_LOOPS)
_LONG = "(adaptive, up to 300 µs)"
_QUEUE = "queue by hand (10 µs)"
_JOIN = "call_soon and join by hand (to the iteration's end)"
_UVLOOP = f"uvloop {importlib.metadata.version('uvloop')}"
_OLDER_UVLOOP = f"uvloop {older_version()}"
_CLOCKED = "list and join by hand, 10 µs, clock per message"
_CAREFUL = "list and join by hand, 100 µs, clock every 16 messages"
GROUPS = (
    Group(
        FLAT_OUT,
        _ways(
            "flat_out asyncio",
            "queue",
            "join",
            "aiofastnet",
            "tinygram",
            "tinygram-tick",
            "tinygram-transport",
            "tinygram-writer",
        ),
        (
            Row(f"asyncio transport {_LONG} ÷ {_QUEUE}", "tinygram", "queue", 8),
            Row(f"asyncio transport {_LONG} ÷ {_JOIN}", "tinygram", "join", 2),
            Row(f"asyncio transport (tick) ÷ {_JOIN}", "tinygram-tick", "join", 2),
            Row(
                f"asyncio, only its transport ours {_LONG} ÷ {_JOIN}",
                "tinygram-transport",
                "join",
                2,
            ),
            Row(f"asyncio StreamWriter {_LONG} ÷ {_QUEUE}", "tinygram-writer", "queue", 5),
            Row(f"asyncio transport {_LONG} ÷ aiofastnet", "tinygram", "aiofastnet", 20),
        ),
    ),
    Group(
        FLAT_OUT,
        _ways(
            "flat_out uvloop",
            "directly",
            "join",
            "aiofastnet",
            "tinygram",
            "tinygram-tick",
            "tinygram-transport",
        ),
        (
            Row(f"uvloop transport {_LONG} ÷ {_UVLOOP} directly", "tinygram", "directly", 45),
            Row(f"uvloop transport {_LONG} ÷ {_JOIN}", "tinygram", "join", 2),
            Row(f"uvloop transport (tick) ÷ {_JOIN}", "tinygram-tick", "join", 2),
            Row(
                f"uvloop, only its transport ours {_LONG} ÷ {_JOIN}",
                "tinygram-transport",
                "join",
                2,
            ),
            Row(f"uvloop transport {_LONG} ÷ aiofastnet", "tinygram", "aiofastnet", 20),
        ),
    ),
    # It gathers what is written in an iteration by itself; what is asked is not to be slower.
    Group(
        FLAT_OUT,
        _ways(f"flat_out {OLDER}", "directly", "tinygram"),
        (Row(f"uvloop transport {_LONG} ÷ {_OLDER_UVLOOP} directly", "tinygram", "directly", 1),),
    ),
    Group(
        FLAT_OUT,
        _ways("plain_loop", "join-10us", "join-100us", "tinygram", "tinygram-10us"),
        (
            Row(f"loop, tinygram.batch {_LONG} ÷ {_CLOCKED}", "tinygram", "join-10us", 2.5),
            Row(f"loop, tinygram.batch (10 µs) ÷ {_CLOCKED}", "tinygram-10us", "join-10us", 2.5),
            Row(f"loop, tinygram.batch {_LONG} ÷ {_CAREFUL}", "tinygram", "join-100us", 2.5),
        ),
    ),
    Group(
        TLS,
        _ways("tls", "directly", "join", "tinygram"),
        (
            Row(f"asyncio under TLS {_LONG} ÷ a write per message", "tinygram", "directly", 10),
            Row(f"asyncio under TLS {_LONG} ÷ {_JOIN}", "tinygram", "join", 0.95),
        ),
    ),
    _served("asyncio", 8),
    _served("uvloop", 18),
    _parted(),
    *(_calm(PACED, f"paced {name} WAY", f"{name}, p50 at 1,000 messages/s") for name in _RUNTIMES),
    *(
        _calm(PING_PONG, f"ping_pong {name} WAY apart", f"{name}, p50 of a ping-pong")
        for name in _RUNTIMES
    ),
    *(
        _calm(PING_PONG, f"ping_pong {name} WAY same", f"{name}, p50 of a ping-pong on one core")
        for name in _RUNTIMES
    ),
    *(
        _calm(
            FLAT_OUT,
            f"flat_out {name} WAY-single",
            f"{name}, time per message, one per iteration",
        )
        for name in _LOOPS
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows that have this text")
    parser.add_argument("--run", help="show what this side costs, beside itself")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="each with fresh processes")
    parser.add_argument(
        "--cycles", type=int, default=_CYCLES, help="in a round of the N times rows"
    )
    parser.add_argument(
        "--calm-cycles", type=int, default=_CALM_CYCLES, help="of the rows that must not be worse"
    )
    take_into(parser)
    asked = parser.parse_args()
    if asked.into and (asked.only or asked.run):
        parser.error("--into stores all rows: leave --only and --run out")
    if min(asked.rounds, asked.cycles, asked.calm_cycles) < 1:
        parser.error("there must be a round, and a cycle")
    show_environment(CONGESTION_CONTROL)
    if asked.run:
        _show_side(asked.run, asked.rounds, asked.cycles)
        return 0
    told = []
    for group in GROUPS:
        rows = [row for row in group.rows if asked.only in row.text]
        if rows:
            is_calm = any(row.at_least is None for row in rows)
            cycles = asked.calm_cycles if is_calm else asked.cycles
            told += _compare(group, rows, asked.rounds, cycles)
    return store(asked.into, "library.speed", "speed", "row", _COLUMNS, told)


def _compare(group: Group, rows: Sequence[Row], number: int, cycles: int) -> list[stored.Row]:
    wanted = sorted({side for row in rows for side in (row.ours, row.base)})
    sides = {name: (group.sides[name], group.kind) for name in wanted}
    measured = list(rounds(sides, number, cycles))
    return [_told(row, measured) for row in rows]


def _told(row: Row, measured: Sequence[Costs]) -> stored.Row:
    ratio = row.ratio(measured)
    asked = f"at most {row.at_most}" if row.at_least is None else f"{row.at_least:g}"
    ours, base = (cost_of(measured, name).median for name in (row.ours, row.base))
    slices = len(measured[0][row.ours])
    figures = f"{shown(ratio)}, asked {asked}; {ours:,.0f} ns and {base:,.0f} ns"
    is_reached = row.is_reached(ratio) if len(measured) >= _FEWEST_ROUNDS else None
    cells: dict[str, stored.Cell] = {"ratio": stored.figure(ratio), "ns": [ours, base]}
    aim = Asked(at_most=row.at_most) if row.at_least is None else Asked(at_least=row.at_least)
    return tell(
        stored.Row(row.text, cells, aim, is_reached),
        f"{figures}, {len(measured)} rounds of {slices} pairs",
    )


def _show_side(words: str, number: int, cycles: int) -> None:
    kinds = {words: group.kind for group in reversed(GROUPS) for words in group.sides.values()}
    if words not in kinds:
        raise SystemExit(f"unknown side {words!r}: the known ones are {', '.join(kinds)}")
    side = (words, kinds[words])
    measured = list(rounds({"first": side, "again": side}, number, cycles))
    cost, ratio = cost_of(measured, "first"), ratio_of(measured, "first", "again")
    print(f"{words}: {cost.median:,.1f} ns ({cost.low:,.1f}-{cost.high:,.1f})")
    print(f"the same beside itself: {shown(ratio)}, {number} rounds of {cycles} pairs")


if __name__ == "__main__":
    with cores_awake():
        sys.exit(main())
