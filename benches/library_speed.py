"""The library is as fast as promised: each row is a ratio to what one would use instead.

All sides of a group run once per round, in random order, each in a process of its own on the
sender's core, its other end on another core. A ratio comes from two runs of one round; shown are
the median over the rounds and its interval. Messages are of 100 bytes, over loopback; what each
side does is in `sides/`. `--only TEXT` leaves the rows that have the text; `--run SIDE` shows what
one side costs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pairs import shown, side_by_side, verdict
from sides.runs import flat_out_ns, latency_p50_ns, request_ns, tls_ns, trip_p50_ns

from tinygram.bench.result import Figure
from tinygram.bench.statistics.intervals import figure_of

_ROUNDS = 9
_MOST_ROUNDS = 61
_NOT_WORSE = 1.05


@dataclass(frozen=True)
class Side:
    """A program of `sides/` with its arguments, and how many messages show what it costs."""

    program: str
    measure: Callable[[str, int], float]
    messages: int

    def __call__(self) -> float:
        """What one run costs: nanoseconds per message, or of latency."""
        return self.measure(self.program, self.messages)


@dataclass(frozen=True)
class Row:
    """Two sides of a group; `at_least`: ours is so many times as fast; None: it is not worse."""

    what: str
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


def _served(loop: str, at_least: float) -> Group:
    sides = {
        "protocol": Side(f"server {loop} directly", request_ns, 102_400),
        "tinygram": Side(f"server {loop} tinygram", request_ns, 1_024_000),
        "ceiling": Side("plain_server", request_ns, 1_024_000),
    }
    what = f"{loop} server, 64 pipelined requests"
    return Group(
        sides,
        (
            Row(f"{what} ÷ protocol server", "tinygram", "protocol", at_least),
            Row(f"{what}: what the client can ask ÷ answered", "ceiling", "tinygram", 1.2),
        ),
    )


def _calm(runtime: str, kind: str, what: str, measure: Callable[..., float], count: int) -> Group:
    sides = {
        way: Side(f"calm {runtime} {way} {kind}", measure, count)
        for way in ("directly", "tinygram")
    }
    return Group(sides, (Row(f"{runtime}, {what} ÷ direct write", "tinygram", "directly"),))


_LOOPS = ("asyncio", "uvloop")
GROUPS = (
    Group(
        _flat_out(
            "asyncio",
            queue=192_000,
            join=1_024_000,
            aiofastnet=160_000,
            tinygram=3_200_000,
            tinygram_transport=3_200_000,
            tinygram_writer=3_200_000,
        ),
        (
            Row("asyncio transport ÷ queue by hand", "tinygram", "queue", 8),
            Row("asyncio transport ÷ call_soon and join by hand", "tinygram", "join", 2),
            Row("asyncio, only its transport ours ÷ join by hand", "tinygram_transport", "join", 2),
            Row("asyncio StreamWriter ÷ queue by hand", "tinygram_writer", "queue", 5),
            Row("asyncio transport ÷ aiofastnet", "tinygram", "aiofastnet", 20),
        ),
    ),
    Group(
        _flat_out(
            "uvloop",
            directly=96_000,
            join=1_024_000,
            aiofastnet=160_000,
            tinygram=3_200_000,
            tinygram_transport=3_200_000,
        ),
        (
            Row("uvloop transport ÷ uvloop directly", "tinygram", "directly", 45),
            Row("uvloop transport ÷ call_soon and join by hand", "tinygram", "join", 2),
            Row("uvloop, only its transport ours ÷ join by hand", "tinygram_transport", "join", 2),
            Row("uvloop transport ÷ aiofastnet", "tinygram", "aiofastnet", 20),
        ),
    ),
    Group(
        {
            "join": Side("plain_loop join", flat_out_ns, 1_024_000),
            "tinygram": Side("plain_loop tinygram", flat_out_ns, 3_200_000),
        },
        (Row("loop, tinygram.batch ÷ list and join by hand", "tinygram", "join", 2.5),),
    ),
    Group(
        {
            "directly": Side("tls directly", tls_ns, 38_400),
            "tinygram": Side("tls tinygram", tls_ns, 640_000),
        },
        (Row("asyncio under TLS ÷ asyncio directly", "tinygram", "directly", 10),),
    ),
    _served("asyncio", 8),
    _served("uvloop", 18),
    *(
        _calm(runtime, "paced", "p50 at 1,000 messages/s", latency_p50_ns, 640)
        for runtime in ("loop", *_LOOPS)
    ),
    *(
        _calm(runtime, "ping-pong", "p50 of a ping-pong", trip_p50_ns, 6_400)
        for runtime in ("loop", *_LOOPS)
    ),
    *(
        _calm(loop, "saturated", "time per message, one per iteration", flat_out_ns, 64_000)
        for loop in _LOOPS
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows that have this text")
    parser.add_argument("--run", help="show what this side costs, and set nothing beside it")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="at least")
    parser.add_argument("--most-rounds", type=int, default=_MOST_ROUNDS, help="to show no loss")
    asked = parser.parse_args()
    if asked.run:
        _show_side(asked.run, asked.rounds)
        return 0
    outcomes = []
    for group in GROUPS:
        rows = [row for row in group.rows if asked.only in row.what]
        if rows:
            outcomes += _compare(group, rows, asked.rounds, asked.most_rounds)
    return 0 if all(outcomes) else 1


def _compare(group: Group, rows: Sequence[Row], rounds: int, most_rounds: int) -> list[bool]:
    """Print the rows, which have as many rounds as it takes; whether each is reached."""
    wanted = {side for row in rows for side in (row.ours, row.base)}
    costs: dict[str, list[float]] = {}
    for costs in side_by_side({name: group.sides[name] for name in sorted(wanted)}):
        done = len(next(iter(costs.values())))
        is_open = any(row.at_least is None and not row.is_reached(row.ratio(costs)) for row in rows)
        if done >= (max(rounds, most_rounds) if is_open else rounds):
            break
    return [_told(row, costs) for row in rows]


def _told(row: Row, costs: dict[str, list[float]]) -> bool:
    ratio = row.ratio(costs)
    asked = f"at most {_NOT_WORSE}" if row.at_least is None else f"{row.at_least:g}"
    ours, base = (figure_of(costs[name]).median for name in (row.ours, row.base))
    figures = f"{shown(ratio)}, asked {asked}; {ours:,.0f} ns and {base:,.0f} ns"
    return verdict(row.what, row.is_reached(ratio), f"{figures}, {len(costs[row.ours])} rounds")


def _show_side(program: str, rounds: int) -> None:
    sides = {side.program: side for group in GROUPS for side in group.sides.values()}
    if program not in sides:
        raise SystemExit(f"unknown side {program!r}: the known ones are {', '.join(sides)}")
    cost = figure_of([sides[program]() for _ in range(rounds)])
    print(f"{program}: {cost.median:,.1f} ns ({cost.low:,.1f}-{cost.high:,.1f})")


if __name__ == "__main__":
    sys.exit(main())
