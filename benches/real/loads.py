"""The real programs as loads: each connects, then does portions of work as often as it is asked.

Both ends of aiohttp and websockets run on the one loop under test; Redis is a process of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import coredis
import redis.asyncio
from aiohttp import ClientSession, TCPConnector, web
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, broadcast, serve

Portion = Callable[[], Awaitable[int]]
"""Does some work; how many operations it was."""

_HOST = "127.0.0.1"
_CONNECTIONS = 50
_CLIENTS = 200
_FEED = 500
_PIPELINE = 100
_COMMANDS = 1_000


@dataclass(frozen=True)
class Load:
    """`messages`: how many an operation is; `why`: what there was to join, whatever it gained."""

    open: Callable[[int], AbstractAsyncContextManager[Portion]]
    what: str
    operation: str
    messages: int
    why: str


@asynccontextmanager
async def _application(*routes: web.RouteDef) -> AsyncIterator[ClientSession]:
    application = web.Application()
    application.add_routes(routes)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, _HOST, 0).start()
        address = f"http://{_HOST}:{runner.addresses[0][1]}"
        connector = TCPConnector(limit=_CONNECTIONS)
        async with ClientSession(address, connector=connector) as session:
            yield session
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _requests(_: int) -> AsyncIterator[Portion]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="answer")

    async with _application(web.get("/", answer)) as session:

        async def ask() -> None:
            async with session.get("/") as answer:
                await answer.read()

        async def portion() -> int:
            await asyncio.gather(*(ask() for _ in range(_CONNECTIONS)))
            return _CONNECTIONS

        yield portion


@asynccontextmanager
async def _feed(_: int) -> AsyncIterator[Portion]:
    async def feed(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for _ in socket:
            for number in range(_FEED):
                await socket.send_str(f"price {number}")
        return socket

    async with (
        _application(web.get("/", feed)) as session,
        session.ws_connect("/") as socket,
    ):

        async def portion() -> int:
            await socket.send_str("go")
            for _ in range(_FEED):
                await socket.receive_str()
            return _FEED

        yield portion


@asynccontextmanager
async def _broadcast(_: int) -> AsyncIterator[Portion]:
    joined: set[ServerConnection] = set()

    async def join(connection: ServerConnection) -> None:
        joined.add(connection)
        await connection.wait_closed()

    async with (
        serve(join, _HOST, 0, compression=None) as server,
        AsyncExitStack() as stack,
    ):
        port = next(iter(server.sockets)).getsockname()[1]
        clients = [
            await stack.enter_async_context(connect(f"ws://{_HOST}:{port}", compression=None))
            for _ in range(_CLIENTS)
        ]
        while len(joined) < _CLIENTS:
            await asyncio.sleep(0.001)

        async def portion() -> int:
            broadcast(joined, "news")
            for client in clients:
                await client.recv()
            return _CLIENTS

        yield portion


@asynccontextmanager
async def _pipeline(port: int) -> AsyncIterator[Portion]:
    client: Any = redis.asyncio.Redis(host=_HOST, port=port)
    async with client:

        async def portion() -> int:
            pipeline = client.pipeline(transaction=False)
            for _ in range(_PIPELINE):
                pipeline.incr("count")
            await pipeline.execute()
            return _PIPELINE

        yield portion


@asynccontextmanager
async def _plain(port: int) -> AsyncIterator[Portion]:
    client: Any = redis.asyncio.Redis(host=_HOST, port=port)
    async with client:

        async def portion() -> int:
            await asyncio.gather(*(client.incr("count") for _ in range(_CONNECTIONS)))
            return _CONNECTIONS

        yield portion


@asynccontextmanager
async def _multiplexed(port: int) -> AsyncIterator[Portion]:
    async with coredis.Redis(host=_HOST, port=port, max_connections=1) as client:

        async def portion() -> int:
            await asyncio.gather(*(client.incr("count") for _ in range(_COMMANDS)))
            return _COMMANDS

        yield portion


LOADS = {
    "aiohttp-requests": Load(
        _requests,
        f"aiohttp: requests over {_CONNECTIONS} connections",
        "request",
        2,
        "Nothing to join: a connection has one request or one response under way, "
        "and aiohttp writes each at once.",
    ),
    "aiohttp-feed": Load(
        _feed,
        "aiohttp: small WebSocket messages on one connection",
        "message",
        1,
        "Joined by the loop: aiohttp hands it each frame by itself, and many before it waits.",
    ),
    "websockets-broadcast": Load(
        _broadcast,
        f"websockets: a broadcast to {_CLIENTS} clients",
        "delivery",
        1,
        "Nothing to join: many connections with one message each.",
    ),
    "redis-pipeline": Load(
        _pipeline,
        f"redis-py: pipelines of {_PIPELINE} commands",
        "command",
        1,
        "Nothing left to join: redis-py makes one write of a pipeline itself.",
    ),
    "redis-plain": Load(
        _plain,
        f"redis-py: {_CONNECTIONS} plain commands at once",
        "command",
        1,
        "Nothing to join: redis-py gives each command under way a connection of its own.",
    ),
    "coredis-multiplexed": Load(
        _multiplexed,
        f"coredis: {_COMMANDS:,} commands at once on one connection",
        "command",
        1,
        "Nothing left to join: coredis has one connection for all of its tasks, and makes one "
        "write of what they ask for itself.",
    ),
}
