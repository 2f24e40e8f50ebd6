"""The strategies as values, and the knobs that every face of the library takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from tinygram import _native


@dataclass(frozen=True)
class Strategy:
    """When messages leave. Take one of this module's values, or make one with `coalesce`."""

    name: str
    hold_us: float | None = None

    def __str__(self) -> str:
        """As the command line spells it."""
        return self.name if self.hold_us is None else f"{self.name}:{self.hold_us:g}us"


nodelay = Strategy("nodelay")
"""A write per message, TCP_NODELAY on."""

nagle = Strategy("nagle")
"""A write per message, TCP_NODELAY off: the kernel gathers (RFC 896)."""

tick = Strategy("tick")
"""One write at the end of the event loop's iteration."""

combine = Strategy("combine")
"""Threads only: what gathers during a write leaves in the next one."""

adaptive = Strategy("adaptive")
"""At once when idle, at the end of the iteration when not, later while more keeps coming."""


def coalesce(hold_us: float) -> Strategy:
    """Hold messages until the first one has waited `hold_us` microseconds.

    Raises ValueError when `hold_us` is not above 0, TypeError when it is no number.
    """
    return Strategy("coalesce", _hold_us("hold_us", hold_us))


class KnobArguments(TypedDict, total=False):
    """The keyword arguments that every face of the library takes."""

    strategy: Strategy
    max_bytes: int
    """A batch this large leaves at once; 64 KiB unless told otherwise, of threads 256 KiB."""
    max_hold_us: float | None
    """No message is held longer, in microseconds; None: as the strategy says."""
    max_buffered_bytes: int | None
    """What is held at most for a peer that takes nothing; None: no limit, of threads 1 MiB."""


def native_knobs(
    strategy: Strategy = adaptive,
    max_bytes: int = 64 << 10,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    *,
    without: Strategy = combine,
) -> _native.Knobs:
    """Check the knobs, and make of them what the native module takes.

    `without` is a strategy that the caller does not have. Raises TypeError or ValueError, which
    name the knob, its value and what is allowed.
    """
    if not isinstance(strategy, Strategy):
        raise TypeError(
            f"strategy is {strategy!r}: it must be tinygram.adaptive, tick, combine, nodelay, "
            "nagle or coalesce(hold_us)"
        )
    if strategy == without:
        raise ValueError(
            f"strategy is {strategy}: combine is for tinygram.CoalescingSocket alone, tick for "
            "event loops and plain loops"
        )
    if max_hold_us is not None:
        max_hold_us = _hold_us("max_hold_us", max_hold_us)
    if max_buffered_bytes is not None:
        _positive_int("max_buffered_bytes", max_buffered_bytes)
    return _native.Knobs(
        strategy.name,
        _ns(strategy.hold_us),
        _positive_int("max_bytes", max_bytes),
        _ns(max_hold_us),
        max_buffered_bytes,
    )


def _hold_us(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}: it must be a number of microseconds")
    if not 0.001 <= value <= 3.6e9:
        raise ValueError(
            f"{name} is {value!r}: it must be between 0.001 and 3.6e9 microseconds (an hour)"
        )
    return value


def _positive_int(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}: it must be a whole number of bytes")
    if not 1 <= value <= 1 << 40:
        raise ValueError(f"{name} is {value!r}: it must be between 1 and 2**40 bytes")
    return value


def _ns(duration_us: float | None) -> int | None:
    return None if duration_us is None else round(duration_us * 1000)
