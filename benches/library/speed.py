"""The library is as fast as promised: each row is a ratio to what one would use instead.

All sides of a group run once per round, in random order, each in a process of its own on the
sender's core; its other end is on another core, or on the same where the row says one core. A
ratio comes from two runs of one round; shown are the median over the rounds and its interval. How
many rounds there are is fixed beforehand, and they are looked at once, at their end; fewer than six
give no verdict. Messages are of 100 bytes, over loopback; what each side does is in `sides/`.
`--only TEXT` leaves the rows that have the text; `--run SIDE` shows what one side costs. The exit
status is 0 when every row is reached.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from library.runs import flat_out_ns, latency_p50_ns, request_ns, tls_ns, trip_p50_ns
from library.sides.sending import CONGESTION_CONTROL
from pairs import show_environment, shown, side_by_side, verdict

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of

_ROUNDS = 9
_CALM_ROUNDS = 25
_FEWEST_ROUNDS = 6
_NOT_WORSE = 1.05


@dataclass(frozen=True)
class Side:
    """A program of `sides/` with its arguments, and how many messages show what it costs."""

    program: str
    measure: Callable[[str, int], float]
    messages: int

    def __call__(self) -> float:
        """The cost of one run: nanoseconds per message, or of latency."""
        return self.measure(self.program, self.messages)


@dataclass(frozen=True)
class Row:
    """Two sides of a group; `at_least`: ours is so many times as fast; None: it is not worse."""

    text: str
    ours: str
    base: str
    at_least: float | None = None

    def ratio(self, costs: dict[str, list[float]]) -> Figure:
        """Base ÷ ours where more is better; ours ÷ base where it must not be worse."""
        above, below = (self.ours, self.base) if self.at_least is None else (self.base, self.ours)
        return figure_of([a / b for a, b in zip(costs[above], costs[below], strict=True)])

    def is_reached(self, ratio: Figure) -> bool:
        """A promised speed by the median, no loss by the interval's upper end."""
        if self.at_least is None:
            return ratio.high <= _NOT_WORSE
        return ratio.median >= self.at_least


@dataclass(frozen=True)
class Group:
    """Sides that run in the same rounds, and the rows made of them."""

    sides: dict[str, Side]
    rows: tuple[Row, ...]


def _flat_out(loop: str, **messages: int) -> dict[str, Side]:
    return {
        way: Side(f"flat_out {loop} {way.replace('_', '-')}", flat_out_ns, count)
        for way, count in messages.items()
    }


def _plain_loop(**messages: int) -> dict[str, Side]:
    return {
        way: Side(f"plain_loop {way.replace('_', '-')}", flat_out_ns, count)
        for way, count in messages.items()
    }


def _served(loop: str, at_least: float) -> Group:
    sides = {
        "protocol": Side(f"server {loop} directly", request_ns, 102_400),
        "tinygram": Side(f"server {loop} tinygram", request_ns, 1_024_000),
        "ceiling": Side("plain_server", request_ns, 1_024_000),
    }
    text = f"{loop} server, 64 pipelined requests"
    return Group(
        sides,
        (
            Row(f"{text} ÷ protocol server", "tinygram", "protocol", at_least),
            Row(f"{text}: what the client can ask ÷ answered", "ceiling", "tinygram", 1.2),
        ),
    )


def _calm(program: str, text: str, measure: Callable[[str, int], float], count: int) -> Group:
    """A program that must not be slower; `WAY` in it is ours and what it replaces."""
    sides = {
        way: Side(program.replace("WAY", way), measure, count) for way in ("directly", "tinygram")
    }
    return Group(sides, (Row(f"{text} ÷ direct write", "tinygram", "directly"),))


_LOOPS = ("asyncio", "uvloop")
_RUNTIMES = ("loop", *_LOOPS)
_LONG = "(adaptive, up to 300 µs)"
_QUEUE = "queue by hand (10 µs)"
_JOIN = "call_soon and join by hand (to the iteration's end)"
_CLOCKED = "list and join by hand, 10 µs, clock per message"
_CAREFUL = "list and join by hand, 100 µs, clock every 16 messages"
GROUPS = (
    Group(
        _flat_out(
            "asyncio",
            queue=192_000,
            join=1_024_000,
            aiofastnet=160_000,
            tinygram=3_200_000,
            tinygram_tick=3_200_000,
            tinygram_transport=3_200_000,
            tinygram_writer=3_200_000,
        ),
        (
            Row(f"asyncio transport {_LONG} ÷ {_QUEUE}", "tinygram", "queue", 8),
            Row(f"asyncio transport {_LONG} ÷ {_JOIN}", "tinygram", "join", 2),
            Row(f"asyncio transport (tick) ÷ {_JOIN}", "tinygram_tick", "join", 2),
            Row(
                f"asyncio, only its transport ours {_LONG} ÷ {_JOIN}",
                "tinygram_transport",
                "join",
                2,
            ),
            Row(f"asyncio StreamWriter {_LONG} ÷ {_QUEUE}", "tinygram_writer", "queue", 5),
            Row(f"asyncio transport {_LONG} ÷ aiofastnet", "tinygram", "aiofastnet", 20),
        ),
    ),
    Group(
        _flat_out(
            "uvloop",
            directly=96_000,
            join=1_024_000,
            aiofastnet=160_000,
            tinygram=3_200_000,
            tinygram_tick=3_200_000,
            tinygram_transport=3_200_000,
        ),
        (
            Row(f"uvloop transport {_LONG} ÷ uvloop directly", "tinygram", "directly", 45),
            Row(f"uvloop transport {_LONG} ÷ {_JOIN}", "tinygram", "join", 2),
            Row(f"uvloop transport (tick) ÷ {_JOIN}", "tinygram_tick", "join", 2),
            Row(
                f"uvloop, only its transport ours {_LONG} ÷ {_JOIN}",
                "tinygram_transport",
                "join",
                2,
            ),
            Row(f"uvloop transport {_LONG} ÷ aiofastnet", "tinygram", "aiofastnet", 20),
        ),
    ),
    Group(
        _plain_loop(
            join_10us=1_024_000,
            join_100us=1_024_000,
            tinygram=3_200_000,
            tinygram_10us=3_200_000,
        ),
        (
            Row(f"loop, tinygram.batch {_LONG} ÷ {_CLOCKED}", "tinygram", "join_10us", 2.5),
            Row(f"loop, tinygram.batch (10 µs) ÷ {_CLOCKED}", "tinygram_10us", "join_10us", 2.5),
            Row(f"loop, tinygram.batch {_LONG} ÷ {_CAREFUL}", "tinygram", "join_100us", 2.5),
        ),
    ),
    Group(
        {
            "directly": Side("tls directly", tls_ns, 38_400),
            "join": Side("tls join", tls_ns, 640_000),
            "tinygram": Side("tls tinygram", tls_ns, 640_000),
        },
        (
            Row(f"asyncio under TLS {_LONG} ÷ a write per message", "tinygram", "directly", 10),
            Row(f"asyncio under TLS {_LONG} ÷ {_JOIN}", "tinygram", "join", 0.95),
        ),
    ),
    _served("asyncio", 8),
    _served("uvloop", 18),
    *(
        _calm(f"paced {name} WAY", f"{name}, p50 at 1,000 messages/s", latency_p50_ns, 640)
        for name in _RUNTIMES
    ),
    *(
        _calm(f"ping_pong {name} WAY apart", f"{name}, p50 of a ping-pong", trip_p50_ns, 6_400)
        for name in _RUNTIMES
    ),
    *(
        _calm(
            f"ping_pong {name} WAY same",
            f"{name}, p50 of a ping-pong on one core",
            trip_p50_ns,
            6_400,
        )
        for name in _RUNTIMES
    ),
    *(
        _calm(
            f"single {name} WAY",
            f"{name}, time per message, one per iteration",
            flat_out_ns,
            64_000,
        )
        for name in _LOOPS
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows that have this text")
    parser.add_argument("--run", help="show what this side costs, and set nothing beside it")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="of the N times rows")
    parser.add_argument(
        "--calm-rounds", type=int, default=_CALM_ROUNDS, help="of the rows that must not be worse"
    )
    asked = parser.parse_args()
    if min(asked.rounds, asked.calm_rounds) < 1:
        parser.error("there must be a round")
    show_environment(CONGESTION_CONTROL)
    if asked.run:
        _show_side(asked.run, asked.rounds)
        return 0
    outcomes = []
    for group in GROUPS:
        rows = [row for row in group.rows if asked.only in row.text]
        if rows:
            is_calm = any(row.at_least is None for row in rows)
            outcomes += _compare(group, rows, asked.calm_rounds if is_calm else asked.rounds)
    return 0 if all(outcomes) else 1


def _compare(group: Group, rows: Sequence[Row], rounds: int) -> list[bool]:
    wanted = sorted({side for row in rows for side in (row.ours, row.base)})
    costs = side_by_side({name: group.sides[name] for name in wanted}, rounds)
    return [_told(row, costs) for row in rows]


def _told(row: Row, costs: dict[str, list[float]]) -> bool:
    rounds = len(costs[row.ours])
    ratio = row.ratio(costs)
    asked = f"at most {_NOT_WORSE}" if row.at_least is None else f"{row.at_least:g}"
    ours, base = (figure_of(costs[name]).median for name in (row.ours, row.base))
    figures = f"{shown(ratio)}, asked {asked}; {ours:,.0f} ns and {base:,.0f} ns"
    is_reached = row.is_reached(ratio) if rounds >= _FEWEST_ROUNDS else None
    return verdict(row.text, is_reached, f"{figures}, {rounds} rounds")


def _show_side(program: str, rounds: int) -> None:
    sides = {side.program: side for group in GROUPS for side in group.sides.values()}
    if program not in sides:
        raise SystemExit(f"unknown side {program!r}: the known ones are {', '.join(sides)}")
    cost = figure_of([sides[program]() for _ in range(rounds)])
    print(f"{program}: {cost.median:,.1f} ns ({cost.low:,.1f}-{cost.high:,.1f})")


if __name__ == "__main__":
    with cores_awake():
        sys.exit(main())
