"""The event loops: asyncio's own and uvloop, or the library's on one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import cast

from tinygram.strategies import Strategy


def loop_factory(
    runtime: str, strategy: Strategy | None = None
) -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the runtime's event loop; with a strategy, that of `tinygram.new_event_loop`."""
    base: type[asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop
    if runtime == "uvloop":
        import uvloop

        base = cast(type[asyncio.AbstractEventLoop], uvloop.Loop)
    if strategy is None:
        return base
    # Imported only here: programs on other loops start without the library's loop.
    from tinygram import new_event_loop

    return partial(new_event_loop, base, strategy=strategy)
