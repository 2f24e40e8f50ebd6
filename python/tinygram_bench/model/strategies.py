"""The names of the strategies: the rules that decide when bytes leave.

The library's, and those that are written by hand alone. To add one of these: a line here, and a
file for each kind of runtime that can follow the rule.
"""

from __future__ import annotations

from tinygram import strategies
from tinygram.strategies import Strategy
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.units import parse_duration_ns

_BY_HAND = (
    Strategy("cork"),  # TCP_CORK around each burst; flat out, around all messages
    Strategy("more"),  # MSG_MORE on all but a burst's last message
    Strategy("timer", 10_000),  # as `coalesce`, with an event-loop timer for each batch
)
_KNOWN = (*reversed(strategies.ALL), *_BY_HAND)
_HOLDS = {known.name: known.hold_ns is not None for known in _KNOWN}


def parse_strategy(text: str) -> Strategy:
    """Read `nagle` or `coalesce:10us`. Raises UsageError that names the known ones."""
    name, colon, duration = text.partition(":")
    if name not in _HOLDS:
        known = ", ".join(f"{name}:DURATION" if has else name for name, has in _HOLDS.items())
        raise UsageError(f"unknown strategy {text!r}: the known ones are {known}")
    if _HOLDS[name]:
        if not duration:
            raise UsageError(f"the strategy {text!r} needs a duration, for example {name}:10us")
        return Strategy(name, parse_duration_ns(duration))
    if colon:
        raise UsageError(f"the strategy {name!r} takes no duration: write {name}")
    return Strategy(name)
