"""Event loops on which every stream connection coalesces."""

from __future__ import annotations

import asyncio
import importlib
from functools import cache
from typing import Any

from tinygram import _native
from tinygram.aio.connecting import Connecting
from tinygram.aio.connection import Settings
from tinygram.aio.ticking import TickingSelector, tick_last, use_ticker
from tinygram.strategies import Strategy, adaptive


class CoalescingLoop:
    """A mixin for an event loop's class; `base_methods` gives that class's own methods.

    Its methods return the coroutines of `Connecting` itself, which saves a frame at each step.
    """

    connecting: Connecting

    def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        return self.connecting.connect("create_connection", *args, **kwargs)

    def create_unix_connection(self, *args: Any, **kwargs: Any) -> Any:
        return self.connecting.connect("create_unix_connection", *args, **kwargs)

    def connect_accepted_socket(self, *args: Any, **kwargs: Any) -> Any:
        return self.connecting.connect("connect_accepted_socket", *args, **kwargs)

    def create_server(self, *args: Any, **kwargs: Any) -> Any:
        return self.connecting.serve("create_server", *args, **kwargs)

    def create_unix_server(self, *args: Any, **kwargs: Any) -> Any:
        return self.connecting.serve("create_unix_server", *args, **kwargs)

    def start_tls(self, *args: Any, **kwargs: Any) -> Any:
        return self.connecting.start_tls(*args, **kwargs)

    def sendfile(self, *args: Any, **kwargs: Any) -> Any:
        return self.connecting.sendfile(*args, **kwargs)

    def run_forever(self) -> None:
        """Run like the stock loop, and write what is held before returning."""
        try:
            super().run_forever()  # type: ignore[misc]
        finally:
            tick_last(self)  # type: ignore[arg-type]

    def base_methods(self) -> Any:
        """The loop's own methods, without coalescing."""
        return super()


def new_event_loop(
    base: type[asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop,
    *,
    strategy: Strategy = adaptive,
    max_bytes: int = 64 << 10,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
) -> asyncio.AbstractEventLoop:
    """Make an event loop like `base` on which every stream connection coalesces.

        with asyncio.Runner(loop_factory=tinygram.new_event_loop) as runner:
            runner.run(main())

    `base` is `asyncio.SelectorEventLoop` or `uvloop.Loop`. On every connection, `strategy` says
    when messages leave, a batch of `max_bytes` leaves at once, no message is held longer than
    `max_hold_us` microseconds (None: as the strategy says), and at most `max_buffered_bytes` are
    held for a peer that takes nothing (None: no limit). Raises TypeError for another `base`, and
    ValueError or TypeError for a knob that cannot be used.
    """
    settings = Settings.of_knobs(strategy, max_bytes, max_hold_us, max_buffered_bytes)
    loop = _make(base)
    loop.connecting = Connecting(loop, loop.base_methods(), settings)
    return loop  # type: ignore[no-any-return]


def _make(base: Any) -> Any:
    if base is asyncio.SelectorEventLoop:
        selector = TickingSelector()
        loop = _loop_class(base)(selector)
        use_ticker(loop, selector.ticker)
        return loop
    if base is not None and base is _uvloop():
        loop = _loop_class(base)()
        use_ticker(loop, _native.Ticker(loop))
        return loop
    raise TypeError(f"base is {base!r}: it must be asyncio.SelectorEventLoop or uvloop.Loop")


@cache
def _loop_class(base: type) -> type:
    return type(f"Coalescing{base.__name__}", (CoalescingLoop, base), {})


def _uvloop() -> Any:
    try:
        return importlib.import_module("uvloop").Loop
    except ImportError:
        return None
