"""The event loops: asyncio's own, and uvloop."""

from __future__ import annotations

import asyncio
from typing import cast


def loop_factory(runtime: str) -> type[asyncio.AbstractEventLoop]:
    """The class of the runtime's event loop."""
    if runtime == "uvloop":
        import uvloop

        return cast(type[asyncio.AbstractEventLoop], uvloop.Loop)
    return asyncio.SelectorEventLoop
