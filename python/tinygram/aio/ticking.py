"""Ticks, which end the holds of an event loop's connections.

A loop of ours ticks before it waits for events, and knows whether it will wait. Any other loop is
asked with `call_soon` for a tick in its next iteration.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import selectors
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from tinygram import _native

if TYPE_CHECKING:
    from tinygram.aio.connection import Settings

_Loop = asyncio.AbstractEventLoop
# Neither dictionary keeps a loop alive, not even through a ticker's transports: a ticker is kept by
# its connections, and by its loop while there is anything to do.
_tickers: WeakKeyDictionary[_Loop, ref[_native.Ticker]] = WeakKeyDictionary()
_shutdowns: WeakKeyDictionary[_Loop, AsyncGenerator[None, None]] = WeakKeyDictionary()


def ticker_of(loop: _Loop, settings: Settings) -> _native.Ticker:
    """The ticker of a loop; the loop watches the ticker's timer if these settings need one."""
    ticker = getattr(loop, "_tinygram_ticker", None) or _known_ticker(loop)
    if ticker is None:
        ticker = _native.Ticker(loop)
        _tickers[loop] = ref(ticker)
        if loop not in _shutdowns:
            _shutdowns[loop] = _flushing_at_shutdown(ref(loop))
    if settings.strategy.duration_ns is not None and not ticker.has_timer:
        loop.add_reader(ticker.timer_fd(), ticker.on_timer)
    return ticker


def _known_ticker(loop: _Loop) -> _native.Ticker | None:
    known = _tickers.get(loop)
    return None if known is None else known()


def _flushing_at_shutdown(loop: ref[_Loop]) -> AsyncGenerator[None, None]:
    """A generator that writes all that is held when `loop` shuts down its asynchronous generators.

    `asyncio.run` does so at its end. Call this in that loop, which then takes note of the
    generator.
    """

    async def wait_for_shutdown() -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            _flush(loop())

    generator = wait_for_shutdown()
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=None)  # A finalizer would keep the loop alive.
    try:
        with suppress(StopIteration):
            generator.asend(None).send(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)
    return generator


def _flush(loop: _Loop | None) -> None:
    # Connections of a closed loop may have lost their descriptors; they report lost bytes.
    if loop is not None and not loop.is_closed() and (ticker := _known_ticker(loop)) is not None:
        ticker.flush()


@atexit.register
def _flush_all() -> None:
    for loop in list(_tickers):
        _flush(loop)


def _let_close_in_child() -> None:
    for ticker in [known() for known in _tickers.values()]:
        if ticker is not None:
            ticker.let_close()


os.register_at_fork(after_in_child=_let_close_in_child)


def use_ticker(loop: _Loop, ticker: _native.Ticker) -> None:
    """Make `ticker` the ticker of all connections of this loop of ours; the loop keeps it alive."""
    loop._tinygram_ticker = ticker  # type: ignore[attr-defined]
    _tickers[loop] = ref(ticker)


class TickingSelector(selectors.EpollSelector):
    """Ticks before each wait for events; the tick and the wait are one native call."""

    def __init__(self) -> None:
        super().__init__()
        self.ticker = _native.Ticker(epoll_fd=self.fileno())
        self._keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._keep(super().register(fileobj, events, data))

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._keep(super().modify(fileobj, events, data))

    def _keep(self, key: selectors.SelectorKey) -> selectors.SelectorKey:
        self._keys[key.fd] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        del self._keys[key.fd]
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Select like the stock selector, except that events may come in portions."""
        told = self.ticker.poll() if timeout == 0 else self.ticker.select(timeout)
        if told is None:
            return []
        ready = []
        for fd, events in told:
            key = self._keys.get(fd)
            if key is not None:
                ready.append((key, events & key.events))
        return ready


def tick_last(loop: _Loop) -> None:
    """Tick when the loop stops, so that nothing stays held."""
    _flush(loop)
