"""The names of the strategies: the rules that decide when bytes leave.

They are the library's, and those that are only written by hand. To add one by hand, add a line
here, and a file for each kind of runtime that can follow the rule.
"""

from __future__ import annotations

from tinygram import strategies
from tinygram.strategies import Strategy
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.units import parse_duration_ns

IO_URING = "io_uring"
"""Implementation of `stream` and `rr`, and publisher of `fanout`, that sends by io_uring(7)."""
_BY_HAND = (
    Strategy("cork"),  # TCP_CORK around each burst; flat out, around all messages
    Strategy("more"),  # MSG_MORE on all but a burst's last message
    Strategy("timer", 10_000),  # as `coalesce`, with an event-loop timer for each batch
)
_KNOWN = (*reversed(strategies.ALL), *_BY_HAND)
_BY_NAME = {known.name: known for known in _KNOWN}


def parse_strategy(text: str) -> Strategy:
    """Read a strategy, such as `nagle` or `coalesce:10us`. Raises UsageError for an unknown one."""
    name, colon, duration = text.partition(":")
    known = _BY_NAME.get(name)
    if known is None:
        raise UsageError(f"unknown strategy {text!r}: the known ones are {_choice()}")
    if known.duration_ns is None:
        if colon:
            raise UsageError(f"the strategy {name!r} takes no duration: write {name}")
        return known
    if not duration:
        raise UsageError(f"the strategy {text!r} needs a duration, for example {name}:10us")
    duration_ns = parse_duration_ns(duration)
    if known.price_ns is not None:
        return known._replace(price_ns=duration_ns)
    return known._replace(hold_ns=duration_ns)


def _choice() -> str:
    return ", ".join(
        known.name if known.duration_ns is None else f"{known.name}:DURATION" for known in _KNOWN
    )


def examples_of_strategies() -> list[str]:
    """Every known strategy as a user may write it, one with a duration as `coalesce:10us`."""
    return [known.name if known.duration_ns is None else f"{known.name}:10us" for known in _KNOWN]
