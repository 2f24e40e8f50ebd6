"""What ends the holds of an event loop's connections.

A loop of ours ticks before it waits for events, and knows whether it will wait. Any other loop is
asked with `call_soon` for a tick in its next iteration.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from tinygram import _native

if TYPE_CHECKING:
    from tinygram.aio.connection import Settings

_tickers: WeakKeyDictionary[asyncio.AbstractEventLoop, _native.Ticker] = WeakKeyDictionary()


def ticker_of(loop: asyncio.AbstractEventLoop, settings: Settings) -> _native.Ticker:
    """The ticker of a loop, which watches its timer if these settings need one."""
    ticker = _tickers.get(loop)
    if ticker is None:
        ticker = _tickers[loop] = _scheduling_ticker(loop)
    if settings.strategy.hold_us is not None and not ticker.has_timer:
        loop.add_reader(ticker.timer_fd(), ticker.on_timer)
    return ticker


def _scheduling_ticker(loop: asyncio.AbstractEventLoop) -> _native.Ticker:
    # The loop must not live on because its ticker does.
    weak_loop = ref(loop)

    def schedule(tick: Callable[[], object]) -> None:
        if (loop := weak_loop()) is not None:
            loop.call_soon(tick)

    return _native.Ticker(schedule)


def use_selector(loop: asyncio.AbstractEventLoop, selector: TickingSelector) -> None:
    """Let the loop's selector tick."""
    _tickers[loop] = selector.ticker


class TickingSelector(selectors.DefaultSelector):
    """Ticks before each wait for events."""

    def __init__(self) -> None:
        super().__init__()
        self.ticker = _native.Ticker()

    def select(self, timeout: float | None = None) -> Any:
        """As the selector it is; what a tick called may have made more to do."""
        ticker = self.ticker
        if ticker.is_armed and ticker.tick(timeout is None or timeout > 0):
            timeout = 0
        return super().select(timeout)


def tick_last(loop: asyncio.AbstractEventLoop) -> None:
    """The loop stops: nothing is held beyond it."""
    ticker = _tickers.get(loop)
    if ticker is not None:
        ticker.flush()
