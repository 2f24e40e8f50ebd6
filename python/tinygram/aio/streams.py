"""The library's face for asyncio: streams and connections on whichever event loop runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

from tinygram.aio.connecting import Connecting, Made
from tinygram.aio.connection import ProtocolFactory, Settings
from tinygram.aio.loop import CoalescingLoop
from tinygram.strategies import KnobArguments

_LIMIT_BYTES = 64 << 10
_KNOBS = frozenset(get_type_hints(KnobArguments))

ClientConnected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None] | None]


async def create_connection(
    loop: asyncio.AbstractEventLoop, protocol_factory: ProtocolFactory, *args: Any, **kwargs: Any
) -> Made:
    """As `loop.create_connection`, with a transport that coalesces.

    Knobs (`strategy`, `max_bytes`, `max_hold_us`, `max_buffered_bytes`) are keyword arguments
    beside the loop's own. Raises what that raises, and ValueError or TypeError for a knob.
    """
    connecting, options = _connecting(loop, kwargs)
    return await connecting.connect("create_connection", protocol_factory, *args, **options)


async def create_unix_connection(
    loop: asyncio.AbstractEventLoop, protocol_factory: ProtocolFactory, *args: Any, **kwargs: Any
) -> Made:
    """As `loop.create_unix_connection`; see `create_connection`."""
    connecting, options = _connecting(loop, kwargs)
    return await connecting.connect("create_unix_connection", protocol_factory, *args, **options)


async def create_server(
    loop: asyncio.AbstractEventLoop, protocol_factory: ProtocolFactory, *args: Any, **kwargs: Any
) -> asyncio.AbstractServer:
    """As `loop.create_server`; see `create_connection`."""
    connecting, options = _connecting(loop, kwargs)
    server: asyncio.AbstractServer = await connecting.serve(
        "create_server", protocol_factory, *args, **options
    )
    return server


async def create_unix_server(
    loop: asyncio.AbstractEventLoop, protocol_factory: ProtocolFactory, *args: Any, **kwargs: Any
) -> asyncio.AbstractServer:
    """As `loop.create_unix_server`; see `create_connection`."""
    connecting, options = _connecting(loop, kwargs)
    server: asyncio.AbstractServer = await connecting.serve(
        "create_unix_server", protocol_factory, *args, **options
    )
    return server


async def open_connection(
    host: str | None = None,
    port: int | str | None = None,
    *,
    limit: int = _LIMIT_BYTES,
    **kwargs: Any,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """As `asyncio.open_connection`, with a transport that coalesces; see `create_connection`."""
    return await _open("create_connection", (host, port), limit, kwargs)


async def open_unix_connection(
    path: str | None = None, *, limit: int = _LIMIT_BYTES, **kwargs: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """As `asyncio.open_unix_connection`; see `create_connection`."""
    return await _open("create_unix_connection", (path,), limit, kwargs)


async def start_server(
    client_connected_cb: ClientConnected,
    host: Any = None,
    port: int | str | None = None,
    *,
    limit: int = _LIMIT_BYTES,
    **kwargs: Any,
) -> asyncio.AbstractServer:
    """As `asyncio.start_server`; see `create_connection`."""
    return await _start("create_server", client_connected_cb, (host, port), limit, kwargs)


async def start_unix_server(
    client_connected_cb: ClientConnected,
    path: str | None = None,
    *,
    limit: int = _LIMIT_BYTES,
    **kwargs: Any,
) -> asyncio.AbstractServer:
    """As `asyncio.start_unix_server`; see `create_connection`."""
    return await _start("create_unix_server", client_connected_cb, (path,), limit, kwargs)


async def _open(
    method: str, where: tuple[Any, ...], limit: int, kwargs: dict[str, Any]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    connecting, options = _connecting(asyncio.get_running_loop(), kwargs)
    loop: Any = _StreamLoop(connecting)
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await connecting.connect(method, lambda: protocol, *where, **options)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _start(
    method: str,
    client_connected_cb: ClientConnected,
    where: tuple[Any, ...],
    limit: int,
    kwargs: dict[str, Any],
) -> asyncio.AbstractServer:
    connecting, options = _connecting(asyncio.get_running_loop(), kwargs)
    loop: Any = _StreamLoop(connecting)

    def factory() -> asyncio.StreamReaderProtocol:
        reader = asyncio.StreamReader(limit=limit, loop=loop)
        return asyncio.StreamReaderProtocol(reader, client_connected_cb, loop=loop)

    server: asyncio.AbstractServer = await connecting.serve(method, factory, *where, **options)
    return server


class _StreamLoop:
    """The running loop as streams see it: `StreamWriter.start_tls` finds our `start_tls`."""

    def __init__(self, connecting: Connecting) -> None:
        self.start_tls = connecting.start_tls
        loop = connecting.loop
        self.call_exception_handler = loop.call_exception_handler
        self.create_future = loop.create_future
        self.create_task = loop.create_task
        self.get_debug = loop.get_debug
        self.is_closed = loop.is_closed


def _connecting(
    loop: asyncio.AbstractEventLoop, kwargs: dict[str, Any]
) -> tuple[Connecting, dict[str, Any]]:
    knobs: Any = {name: value for name, value in kwargs.items() if name in _KNOBS}
    options = {name: value for name, value in kwargs.items() if name not in _KNOBS}
    base = loop.base_methods() if isinstance(loop, CoalescingLoop) else loop
    return Connecting(loop, base, Settings.from_arguments(**knobs)), options
