"""The protocol that stands between the event loop's transport and the program's protocol."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

from tinygram import _native
from tinygram.aio.ticking import ticker_of
from tinygram.aio.transport import Transport
from tinygram.aio.water_marks import WaterMarks, water_marks
from tinygram.strategies import Strategy, nagle, native_knobs

ProtocolFactory = Callable[[], asyncio.BaseProtocol]


class Settings(NamedTuple):
    """The knobs of all connections that one call, or one event loop, makes."""

    knobs: _native.Knobs
    strategy: Strategy
    max_bytes: int
    max_buffered_bytes: int | None
    is_nagle: bool
    marks: WaterMarks
    """The water marks of a new connection."""

    @classmethod
    def of_knobs(
        cls,
        strategy: Strategy,
        max_bytes: int,
        max_hold_us: float | None,
        max_buffered_bytes: int | None,
    ) -> Self:
        """Check the knobs, and make the settings. Raises TypeError or ValueError."""
        knobs = native_knobs(strategy, max_bytes, max_hold_us, max_buffered_bytes)
        marks = water_marks(None, None, max_bytes, max_buffered_bytes)
        return cls(knobs, strategy, max_bytes, max_buffered_bytes, strategy == nagle, marks)


_NOBODY = asyncio.Protocol()
_NOBODY_BUFFERED = asyncio.BufferedProtocol()


class Connection(asyncio.BaseProtocol):
    """One connection: its settings, the program's protocol, and our transport once it is made.

    It has slots, as its subclasses have: a dictionary would cost an idle connection 200 bytes.
    """

    __slots__ = ("__weakref__", "lent_socket", "loop", "made", "protocol", "settings", "transport")

    transport: Transport | None
    made: list[tuple[Transport, asyncio.BaseProtocol]] | None
    """The list in which to note transport and protocol, for the call that waits for them."""
    lent_socket: socket.socket | None
    """The socket that the program gave, and may close before the connection ends."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: asyncio.BaseProtocol,
        settings: Settings,
    ) -> None:
        self.loop = loop
        self.protocol = protocol
        self.settings = settings
        self.transport = None
        self.made = None
        self.lent_socket = None

    def with_protocol(self, protocol: asyncio.BaseProtocol) -> Connection:
        """The same connection with another protocol."""
        other = connection(self.loop, protocol, self.settings)
        other.transport = self.transport
        other.lent_socket = self.lent_socket
        return other

    def attach(self, inner: asyncio.BaseTransport) -> asyncio.BaseTransport:
        """Put our transport above the event loop's own."""
        # uvloop's transports are what asyncio.Transport documents, and no subclass of it.
        stream: Any = inner
        self.transport = transport = Transport(
            self.loop, stream, self, ticker_of(self.loop, self.settings)
        )
        if self.made is not None:
            self.made.append((transport, self.protocol))
            self.made = None
        return transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.protocol.connection_made(self.attach(transport))

    def connection_lost(self, exc: Exception | None) -> None:
        transport, self.transport = self.transport, None
        if transport is not None:
            exc = transport._on_lost(exc)
        try:
            self.protocol.connection_lost(exc)
        finally:
            self.forget_protocol()
            if transport is not None:
                transport._on_forgotten()

    def forget_protocol(self) -> None:
        """Drop the reference to the program's protocol, which refers to this connection."""
        self.protocol = _NOBODY

    def pause_writing(self) -> None:
        """The transport below has bytes that the kernel does not take."""
        if self.transport is not None:
            self.transport._on_blocked()

    def resume_writing(self) -> None:
        if self.transport is not None:
            self.transport._on_writable()

    def eof_received(self) -> bool | None:
        """The peer ended its stream: the protocol says whether the connection stays open."""
        is_kept_open: bool | None = self.protocol.eof_received()  # type: ignore[attr-defined]
        if self.transport is not None:
            self.transport._on_eof(bool(is_kept_open))
        return is_kept_open


class _StreamConnection(Connection, asyncio.Protocol):
    """For an `asyncio.Protocol`, which gets received data directly, without a call of ours."""

    __slots__ = ("data_received",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.data_received = self.protocol.data_received  # type: ignore

    def forget_protocol(self) -> None:
        super().forget_protocol()
        self.data_received = _NOBODY.data_received  # type: ignore


class _BufferedConnection(Connection, asyncio.BufferedProtocol):
    """For an `asyncio.BufferedProtocol`, which gets received data directly, too."""

    __slots__ = ("buffer_updated", "get_buffer")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.get_buffer = self.protocol.get_buffer  # type: ignore
        self.buffer_updated = self.protocol.buffer_updated  # type: ignore

    def forget_protocol(self) -> None:
        super().forget_protocol()
        self.get_buffer = _NOBODY_BUFFERED.get_buffer  # type: ignore
        self.buffer_updated = _NOBODY_BUFFERED.buffer_updated  # type: ignore


class _CopyingConnection(Connection, asyncio.BufferedProtocol):
    """For an `asyncio.Protocol` on asyncio's own loop.

    There, each read allocates 256 KiB and gives back what it does not fill, which costs a mapping,
    a page fault and two more system calls. One buffer for all connections of the loop costs only a
    copy of what was received.
    """

    __slots__ = ("_buffer", "_data_received")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._data_received = self.protocol.data_received  # type: ignore[attr-defined]
        buffer = _buffers.get(self.loop)
        if buffer is None:
            buffer = _buffers[self.loop] = memoryview(bytearray(_READ_BYTES))
        self._buffer = buffer

    def get_buffer(self, _sizehint: int) -> memoryview:
        """The buffer for the next read; it is used before anything else can happen on this loop."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._data_received(self._buffer[:nbytes].tobytes())

    def forget_protocol(self) -> None:
        super().forget_protocol()
        self._data_received = _NOBODY.data_received


_READ_BYTES = 256 << 10
"""The most that asyncio reads at once."""
_buffers: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


def connection(
    loop: asyncio.AbstractEventLoop, protocol: asyncio.BaseProtocol, settings: Settings
) -> Connection:
    """Make the connection that stands before `protocol`.

    asyncio reads into a protocol's buffers if its class says so, uvloop if it has the methods.
    """
    if isinstance(loop, asyncio.SelectorEventLoop):
        if isinstance(protocol, asyncio.BufferedProtocol):
            return _BufferedConnection(loop, protocol, settings)
        reading: type[Connection] = _CopyingConnection
    elif isinstance(protocol, asyncio.Protocol):
        reading = _StreamConnection
    elif hasattr(protocol, "get_buffer"):
        return _BufferedConnection(loop, protocol, settings)
    else:
        reading = _StreamConnection
    if hasattr(protocol, "data_received"):
        return reading(loop, protocol, settings)
    return Connection(loop, protocol, settings)
