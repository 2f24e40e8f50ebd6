"""The event loops: asyncio's own, and uvloop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def loop_factory(runtime: str) -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the event loop of that runtime."""
    if runtime == "uvloop":
        import uvloop

        return uvloop.new_event_loop
    return asyncio.SelectorEventLoop
