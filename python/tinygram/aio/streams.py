"""The library's face for asyncio: streams and connections on whichever event loop runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, Unpack

from tinygram.aio.connecting import Connecting
from tinygram.aio.connection import Settings
from tinygram.aio.loop import CoalescingLoop
from tinygram.aio.options import (
    ConnectionOptions,
    Path,
    ServerOptions,
    UnixConnectionOptions,
    UnixServerOptions,
)
from tinygram.aio.transport import Transport
from tinygram.strategies import Strategy, adaptive

_LIMIT_BYTES = 64 << 10
_MAX_BYTES = 64 << 10

P = TypeVar("P", bound=asyncio.BaseProtocol)


class StreamWriter(asyncio.StreamWriter):
    """An `asyncio.StreamWriter` whose `transport` coalesces: see `writer.transport.stats()`.

    `open_connection` and `start_server` make it.
    """

    @property
    def transport(self) -> Transport:
        """The transport that the writer writes to."""
        transport: Any = super().transport
        return transport  # type: ignore[no-any-return]


ClientConnected = Callable[[asyncio.StreamReader, StreamWriter], Awaitable[None] | None]


async def create_connection(
    loop: asyncio.AbstractEventLoop,
    protocol_factory: Callable[[], P],
    host: str | None = None,
    port: int | str | None = None,
    *,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[ConnectionOptions],
) -> tuple[Transport, P]:
    """Like `loop.create_connection`, with a transport that coalesces; `loop` must be running.

    `strategy` says when messages leave. A batch of `max_bytes` leaves at once, no message is held
    longer than `max_hold_us` microseconds (None: as the strategy says), and at most
    `max_buffered_bytes` are held for a peer that takes nothing (None: no limit). `options` are the
    loop's own, such as `ssl` and `sock`.

    Raises what the loop's own method raises, and ValueError or TypeError for a knob that cannot be
    used.
    """
    connecting = _connecting(loop, strategy, max_bytes, max_hold_us, max_buffered_bytes)
    made: Any = await connecting.connect(
        "create_connection", protocol_factory, host, port, **options
    )
    return made  # type: ignore[no-any-return]


async def create_unix_connection(
    loop: asyncio.AbstractEventLoop,
    protocol_factory: Callable[[], P],
    path: Path | None = None,
    *,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[UnixConnectionOptions],
) -> tuple[Transport, P]:
    """Like `loop.create_unix_connection`, but it coalesces; see `create_connection`."""
    connecting = _connecting(loop, strategy, max_bytes, max_hold_us, max_buffered_bytes)
    made: Any = await connecting.connect(
        "create_unix_connection", protocol_factory, path, **options
    )
    return made  # type: ignore[no-any-return]


async def create_server(
    loop: asyncio.AbstractEventLoop,
    protocol_factory: Callable[[], asyncio.BaseProtocol],
    host: str | Sequence[str] | None = None,
    port: int | str | None = None,
    *,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[ServerOptions],
) -> asyncio.Server:
    """Like `loop.create_server`, whose connections coalesce; see `create_connection`."""
    connecting = _connecting(loop, strategy, max_bytes, max_hold_us, max_buffered_bytes)
    server: Any = await connecting.serve("create_server", protocol_factory, host, port, **options)
    return server  # type: ignore[no-any-return]


async def create_unix_server(
    loop: asyncio.AbstractEventLoop,
    protocol_factory: Callable[[], asyncio.BaseProtocol],
    path: Path | None = None,
    *,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[UnixServerOptions],
) -> asyncio.Server:
    """Like `loop.create_unix_server`, whose connections coalesce; see `create_connection`."""
    connecting = _connecting(loop, strategy, max_bytes, max_hold_us, max_buffered_bytes)
    server: Any = await connecting.serve("create_unix_server", protocol_factory, path, **options)
    return server  # type: ignore[no-any-return]


async def open_connection(
    host: str | None = None,
    port: int | str | None = None,
    *,
    limit: int = _LIMIT_BYTES,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[ConnectionOptions],
) -> tuple[asyncio.StreamReader, StreamWriter]:
    """Like `asyncio.open_connection`, with a transport that coalesces; see `create_connection`.

    Bytes that bypass the writer, by `os.write` on the same descriptor for example, overtake those
    that are held.
    """
    connecting = _connecting(
        asyncio.get_running_loop(), strategy, max_bytes, max_hold_us, max_buffered_bytes
    )
    return await _open(connecting, limit, "create_connection", host, port, **options)


async def open_unix_connection(
    path: Path | None = None,
    *,
    limit: int = _LIMIT_BYTES,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[UnixConnectionOptions],
) -> tuple[asyncio.StreamReader, StreamWriter]:
    """Like `asyncio.open_unix_connection`, but it coalesces; see `open_connection`."""
    connecting = _connecting(
        asyncio.get_running_loop(), strategy, max_bytes, max_hold_us, max_buffered_bytes
    )
    return await _open(connecting, limit, "create_unix_connection", path, **options)


async def start_server(
    client_connected_cb: ClientConnected,
    host: str | Sequence[str] | None = None,
    port: int | str | None = None,
    *,
    limit: int = _LIMIT_BYTES,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[ServerOptions],
) -> asyncio.Server:
    """Like `asyncio.start_server`, whose connections coalesce; see `open_connection`."""
    connecting = _connecting(
        asyncio.get_running_loop(), strategy, max_bytes, max_hold_us, max_buffered_bytes
    )
    factory = _accepting(connecting, client_connected_cb, limit)
    server: Any = await connecting.serve("create_server", factory, host, port, **options)
    return server  # type: ignore[no-any-return]


async def start_unix_server(
    client_connected_cb: ClientConnected,
    path: Path | None = None,
    *,
    limit: int = _LIMIT_BYTES,
    strategy: Strategy = adaptive,
    max_bytes: int = _MAX_BYTES,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
    **options: Unpack[UnixServerOptions],
) -> asyncio.Server:
    """Like `asyncio.start_unix_server`, whose connections coalesce; see `open_connection`."""
    connecting = _connecting(
        asyncio.get_running_loop(), strategy, max_bytes, max_hold_us, max_buffered_bytes
    )
    factory = _accepting(connecting, client_connected_cb, limit)
    server: Any = await connecting.serve("create_unix_server", factory, path, **options)
    return server  # type: ignore[no-any-return]


async def _open(
    connecting: Connecting, limit: int, method: str, *where: Any, **options: Any
) -> tuple[asyncio.StreamReader, StreamWriter]:
    loop: Any = _StreamLoop(connecting)
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await connecting.connect(method, lambda: protocol, *where, **options)
    return reader, StreamWriter(transport, protocol, reader, loop)


def _accepting(
    connecting: Connecting, client_connected_cb: ClientConnected, limit: int
) -> Callable[[], asyncio.StreamReaderProtocol]:
    loop: Any = _StreamLoop(connecting)

    def on_client(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Awaitable[None] | None:
        # asyncio itself makes the writer, of its own class.
        writer.__class__ = StreamWriter
        ours: Any = writer
        return client_connected_cb(reader, ours)

    def factory() -> asyncio.StreamReaderProtocol:
        reader = asyncio.StreamReader(limit=limit, loop=loop)
        return asyncio.StreamReaderProtocol(reader, on_client, loop=loop)

    return factory


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
    loop: asyncio.AbstractEventLoop,
    strategy: Strategy,
    max_bytes: int,
    max_hold_us: float | None,
    max_buffered_bytes: int | None,
) -> Connecting:
    if not isinstance(loop, asyncio.AbstractEventLoop):
        raise TypeError(
            f"loop is {loop!r}: the first argument must be the event loop, "
            "asyncio.get_running_loop()"
        )
    base = loop.base_methods() if isinstance(loop, CoalescingLoop) else loop
    return Connecting(
        loop, base, Settings.of_knobs(strategy, max_bytes, max_hold_us, max_buffered_bytes)
    )
