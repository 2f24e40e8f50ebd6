"""The application and the event loops of benches/real/servers.py."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop

import tinygram

Send = Callable[[dict[str, Any]], Awaitable[None]]

CHUNKS = 20
_CHUNK = b"a small part of a stream;" * 2
_PLAIN = b"answer" * 20


def stock_asyncio() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop()


def tinygram_asyncio() -> asyncio.AbstractEventLoop:
    return tinygram.new_event_loop()


def stock_uvloop() -> asyncio.AbstractEventLoop:
    return uvloop.Loop()


def tinygram_uvloop() -> asyncio.AbstractEventLoop:
    return tinygram.new_event_loop(uvloop.Loop)


async def application(scope: dict[str, Any], _receive: Any, send: Send) -> None:
    """`/chunks` answers in `CHUNKS` parts, each handed over by itself; anything else at once."""
    if scope["type"] != "http":
        raise ValueError(f"{scope['type']} is not served")
    if scope["path"] == "/chunks":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(CHUNKS):
            await send({"type": "http.response.body", "body": _CHUNK, "more_body": True})
        await send({"type": "http.response.body"})
    else:
        length = (b"content-length", str(len(_PLAIN)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": _PLAIN})


def main() -> None:
    """Serve it by hypercorn, which takes no loop on its command line: the loop's name, the port."""
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    config = Config()
    config.bind = [f"127.0.0.1:{sys.argv[2]}"]
    config.loglevel = "WARNING"
    with asyncio.Runner(loop_factory=globals()[sys.argv[1]]) as runner:
        app: Any = application
        runner.run(serve(app, config))


if __name__ == "__main__":
    main()
