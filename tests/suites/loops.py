"""Puts loops of ours in the place of the stock ones, of which alone the suites know the names.

What would make a test fail, or prove nothing, without having to do with how we send:

- class names: tests look for `_UnixSelectorEventLoop` in a loop's repr, and uvloop's take for an
  asyncio loop what has a class of a module whose name begins with `asyncio.`. Ours take the names
  of those that they replace.
- policies: modules end with `set_event_loop_policy(None)` and tests make policies of their own,
  from both of which stock loops would come again. So it is no policy that is replaced, but the
  class of which every policy makes its loops.
"""

from __future__ import annotations

import asyncio
import asyncio.unix_events
import importlib
import selectors
from collections.abc import Callable
from typing import Any

import tinygram
from tinygram.aio.connecting import Connecting, Made
from tinygram.aio.ticking import TickingSelector, use_ticker


class Counting(Connecting):
    """Counts the connections, of all loops together, that got a transport of ours."""

    connections = 0

    async def connect(self, *args: Any, **kwargs: Any) -> Made:
        """Do what its base does."""
        transport, protocol = await super().connect(*args, **kwargs)
        Counting.connections += isinstance(transport, tinygram.Transport)
        return transport, protocol


def stock() -> None:
    """The loops as they are."""


def ours(connecting: type[Connecting] = Counting) -> None:
    """Loops of ours in place of asyncio's and of uvloop's; `connecting` makes their connections."""
    replace_asyncios(connecting)
    try:
        uvloop: Any = importlib.import_module("uvloop")
    except ImportError:
        return
    replace_uvloops(uvloop, connecting)


def replace_asyncios(connecting: type[Connecting]) -> None:
    """Whatever makes an asyncio loop from now on makes one of ours."""
    stock_loop: Any = asyncio.SelectorEventLoop
    coalescing, settings = _class_and_settings(stock_loop)

    def initialize(self: Any, selector: selectors.BaseSelector | None = None) -> None:
        # Not with a selector of the test's: there ours tick as on a loop that is not ours.
        ticking = TickingSelector() if selector is None else None
        coalescing.__init__(self, ticking or selector)
        if ticking is not None:
            use_ticker(self, ticking.ticker)
        self.connecting = connecting(self, self.base_methods(), settings)

    replaced = _named_alike(stock_loop, coalescing, initialize)
    unix_events: Any = asyncio.unix_events
    for module in asyncio, unix_events:
        for name in [name for name, value in vars(module).items() if value is stock_loop]:
            setattr(module, name, replaced)
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = replaced


def replace_uvloops(uvloop: Any, connecting: type[Connecting]) -> None:
    """Whatever makes a uvloop from now on makes one of ours."""
    coalescing, settings = _class_and_settings(uvloop.Loop)

    def initialize(self: Any) -> None:
        coalescing.__init__(self)
        self.connecting = connecting(self, self.base_methods(), settings)

    uvloop.Loop = _named_alike(uvloop.Loop, coalescing, initialize)


def _class_and_settings(base: type[asyncio.AbstractEventLoop]) -> tuple[Any, Any]:
    loop: Any = tinygram.new_event_loop(base)
    loop.close()
    return type(loop), loop.connecting.settings


def _named_alike(stock_loop: type, base: type, init: Callable[..., None]) -> type:
    names = {name: getattr(stock_loop, name) for name in ("__qualname__", "__module__")}
    return type(stock_loop.__name__, (base,), {"__init__": init, **names})
