"""The strategies as values, and the knobs that every face of the library takes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tinygram import _native

__all__ = [
    "Strategy",
    "adaptive",
    "coalesce",
    "combine",
    "competitive",
    "nagle",
    "nodelay",
    "tick",
]


class Strategy(NamedTuple):
    """The rule for when messages leave: one of these values, or what one of these functions makes.

    - `tinygram.adaptive`, the default: the first message of an event loop's iteration leaves at
      once when the loop had rested and messages come singly; what follows in that iteration leaves
      at its end, in one write, or up to 300 µs later where messages come as fast as the loop lets
      them.
    - `tinygram.tick`: at the end of the iteration; in a plain loop, at `poll` and `flush`.
    - `tinygram.combine`: for threads only; what gathers during a write leaves in the next one.
    - `tinygram.coalesce(hold_us)`: when the first message has waited this many microseconds.
    - `tinygram.competitive(price_us)`: when all held messages together have waited this many
      microseconds, which is what a write is worth.
    - `tinygram.nodelay`: each message in a write of its own, with TCP_NODELAY on.
    - `tinygram.nagle`: each message in a write of its own, with TCP_NODELAY off: the kernel gathers
      (RFC 896).

    It is a named tuple:

    - `name`: one of the names above; only `coalesce` has a hold, only `competitive` a price.
    - `hold_ns`: how long the first message waits, in nanoseconds; None without a hold.
    - `price_ns`: how much delay of messages a write is worth, in ns; None without a price.

    `str(strategy)` is its name on the command line, `coalesce:10us` for example.
    """

    name: str
    hold_ns: int | None = None
    price_ns: int | None = None

    @property
    def hold_us(self) -> float | None:
        """How long the first message waits, in microseconds; None without a hold."""
        return None if self.hold_ns is None else self.hold_ns / 1000

    @property
    def price_us(self) -> float | None:
        """How much delay of messages a write is worth, in microseconds; None without a price."""
        return None if self.price_ns is None else self.price_ns / 1000

    @property
    def duration_ns(self) -> int | None:
        """The hold or the price, in ns (None: has neither); no message is held longer than that."""
        return self.price_ns if self.hold_ns is None else self.hold_ns

    def __str__(self) -> str:
        """The form of the command line: `adaptive`, `coalesce:10us`, `coalesce:1s`."""
        if self.duration_ns is None:
            return self.name
        return f"{self.name}:{format_duration_ns(self.duration_ns)}"

    def __repr__(self) -> str:
        if self.duration_ns is None:
            return f"tinygram.{self.name}"
        duration_us = self.duration_ns / 1000
        shown = int(duration_us) if duration_us.is_integer() else duration_us
        return f"tinygram.{self.name}({shown})"


nodelay = Strategy("nodelay")
"""Each message in a write of its own, with TCP_NODELAY on."""

nagle = Strategy("nagle")
"""Each message in a write of its own, with TCP_NODELAY off: the kernel gathers (RFC 896)."""

tick = Strategy("tick")
"""One write at the end of the event loop's iteration."""

combine = Strategy("combine")
"""For threads only: what gathers during a write leaves in the next one."""

adaptive = Strategy("adaptive")
"""At once when idle, else at the iteration's end, or later where waiting makes all faster."""


def coalesce(hold_us: float) -> Strategy:
    """Hold messages until the first one has waited `hold_us` microseconds.

    `hold_us` is rounded to whole nanoseconds. Raises ValueError unless it is between 0.001 and
    3.6e9 (an hour), and TypeError when it is not a number.
    """
    return Strategy("coalesce", _duration_ns("hold_us", hold_us))


def competitive(price_us: float) -> Strategy:
    """Hold messages until all of them together have waited `price_us` microseconds.

    The price is what a write is worth: how much delay of messages may be spent to save one write. A
    lone message waits for `price_us`; of ten messages at once, each waits for a tenth of that. The
    sum of all delays and of the prices of all writes is never more than twice the least that would
    be possible if all messages were known beforehand. This is proven for writes exactly at the
    deadlines; a timer that is late adds its lateness for each message that was due.

    `price_us` is rounded to whole nanoseconds. Raises ValueError unless it is between 0.001 and
    3.6e9 (an hour), and TypeError when it is not a number.
    """
    return Strategy("competitive", price_ns=_duration_ns("price_us", price_us))


ALL = (
    adaptive,
    Strategy("competitive", price_ns=5_000),
    Strategy("coalesce", hold_ns=10_000),
    tick,
    combine,
    nodelay,
    nagle,
)
"""Every strategy; those with a duration have an example of one. To add a strategy, add its value
above and here, and its name in `__all__` (CONTRIBUTING.md has the other two edits)."""
OF_LOOPS = tuple(strategy for strategy in ALL if strategy != combine)
"""The strategies of event loops and plain loops."""
OF_THREADS = tuple(strategy for strategy in ALL if strategy != tick)
"""The strategies of `CoalescingSocket`."""
_CHOICE = (
    "it must be tinygram."
    + ", ".join(strategy.name for strategy in ALL if strategy.duration_ns is None)
    + "".join(f", {strategy.name}(hold_us)" for strategy in ALL if strategy.hold_ns is not None)
    + "".join(f" or {strategy.name}(price_us)" for strategy in ALL if strategy.price_ns is not None)
)


def format_duration_ns(duration_ns: int) -> str:
    """Write a duration in the largest unit that leaves a whole number: 10_000 → `10us`."""
    for unit, unit_ns in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if duration_ns and duration_ns % unit_ns == 0:
            return f"{duration_ns // unit_ns}{unit}"
    return f"{duration_ns}ns"


def native_knobs(
    strategy: Strategy = adaptive,
    max_bytes: int = 64 << 10,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    *,
    without: Strategy = combine,
) -> _native.Knobs:
    """Check the knobs and make the native module's `Knobs` of them.

    A batch of `max_bytes` leaves at once, no message is held longer than `max_hold_us` (None: as
    the strategy says), and at most `max_buffered_bytes` are held (None: no limit, or 1 MiB for
    threads).

    `without` is a strategy that the caller does not support. Raises TypeError or ValueError with
    the knob, its value and what is allowed.
    """
    if not isinstance(strategy, Strategy):
        raise TypeError(f"strategy is {strategy!r}: {_CHOICE}")
    if strategy.name not in {known.name for known in ALL}:
        raise ValueError(f'unknown strategy "{strategy.name}": {_CHOICE}')
    if strategy == without:
        raise ValueError(
            f"strategy is {strategy}: combine is for tinygram.CoalescingSocket alone, tick for "
            "event loops and plain loops"
        )
    max_hold_ns = None if max_hold_us is None else _duration_ns("max_hold_us", max_hold_us)
    if max_buffered_bytes is not None:
        _positive_int("max_buffered_bytes", max_buffered_bytes)
    return _native.Knobs(
        strategy.name,
        strategy.duration_ns,
        _positive_int("max_bytes", max_bytes),
        max_hold_ns,
        max_buffered_bytes,
    )


def _duration_ns(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}: it must be a number of microseconds")
    if not 0.001 <= value <= 3.6e9:
        raise ValueError(
            f"{name} is {value!r}: it must be between 0.001 and 3.6e9 microseconds (an hour)"
        )
    return round(value * 1000)


def _positive_int(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}: it must be a whole number of bytes")
    if not 1 <= value <= 1 << 40:
        raise ValueError(f"{name} is {value!r}: it must be between 1 and 2**40 bytes")
    return value
