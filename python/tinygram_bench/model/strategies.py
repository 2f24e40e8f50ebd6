"""The names of the strategies: the rules that decide when bytes leave.

A batch is 64 KiB, of tinygram's threads 256 KiB. To add one: a line here, and a file for each kind
of runtime that can follow the rule.
"""

from __future__ import annotations

from tinygram.strategies import Strategy
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.units import parse_duration_ns

PLAIN = {
    "nagle": "TCP_NODELAY off, a write per message",
    "nodelay": "TCP_NODELAY on, a write per message",
    "cork": "TCP_CORK around each burst; flat out, from the first message to the last of all",
    "more": "MSG_MORE on all but a burst's last message",
    "tick": "one write for everything that one wake-up brought; by others than hand up to a batch",
    "combine": "one write for everything that came during the write before, up to a batch",
    "adaptive": "tinygram's own: at once when idle, else gathered for a moment, up to a batch",
}
HOLDING = {
    "coalesce": "TCP_NODELAY on, hold until that time has passed or a batch has gathered",
    "timer": "the same with one event-loop timer per batch",
}


def parse_strategy(text: str) -> Strategy:
    """Read `nagle` or `coalesce:10us`. Raises UsageError that names the known ones."""
    name, colon, duration = text.partition(":")
    if name in HOLDING:
        if not duration:
            raise UsageError(f"the strategy {text!r} needs a duration, for example {name}:10us")
        return Strategy(name, parse_duration_ns(duration))
    if name in PLAIN and not colon:
        return Strategy(name)
    if name in PLAIN:
        raise UsageError(f"the strategy {name!r} takes no duration: write {name}")
    known = ", ".join([*PLAIN, *(f"{name}:DURATION" for name in HOLDING)])
    raise UsageError(f"unknown strategy {text!r}: the known ones are {known}")
