"""What stands between the event loop's transport and the program's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, Unpack, cast

from tinygram import _native
from tinygram.aio.ticking import ticker_of
from tinygram.aio.transport import Transport
from tinygram.strategies import KnobArguments, Strategy, adaptive, native_knobs

ProtocolFactory = Callable[[], asyncio.BaseProtocol]


@dataclass(frozen=True)
class Settings:
    """The knobs of all connections that one call, or one event loop, makes."""

    knobs: _native.Knobs
    strategy: Strategy
    max_bytes: int
    max_buffered_bytes: int | None

    @classmethod
    def from_arguments(cls, **knobs: Unpack[KnobArguments]) -> Self:
        """Raises TypeError or ValueError for a knob that cannot be used."""
        return cls(
            native_knobs(**knobs),
            knobs.get("strategy", adaptive),
            knobs.get("max_bytes", 64 << 10),
            knobs.get("max_buffered_bytes"),
        )


class Connection(asyncio.BaseProtocol):
    """One connection: its settings, the program's protocol, and our transport once it is made.

    What is received goes from the transport below to the protocol without passing through here.
    """

    transport: Transport | None

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

    def with_protocol(self, protocol: asyncio.BaseProtocol) -> Connection:
        """The same connection with another protocol."""
        other = connection(self.loop, protocol, self.settings)
        other.transport = self.transport
        return other

    def attach(self, inner: asyncio.BaseTransport) -> asyncio.BaseTransport:
        """Our transport above the event loop's own."""
        # uvloop's transports are what asyncio.Transport documents, and no subclass of it.
        stream = cast(asyncio.Transport, inner)
        self.transport = Transport(self.loop, stream, self, ticker_of(self.loop, self.settings))
        return self.transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport below is ready."""
        self.protocol.connection_made(self.attach(transport))

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport below is gone."""
        if self.transport is not None:
            exc = self.transport.on_lost(exc)
        self.protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """The transport below has bytes that the kernel does not take."""
        if self.transport is not None:
            self.transport.on_blocked()

    def resume_writing(self) -> None:
        """The transport below has none left."""
        if self.transport is not None:
            self.transport.on_writable()

    def eof_received(self) -> bool | None:
        """The peer ended its stream: whether the connection stays open is the protocol's to say."""
        is_kept_open: bool | None = self.protocol.eof_received()  # type: ignore[attr-defined]
        if self.transport is not None:
            self.transport.on_eof(bool(is_kept_open))
        return is_kept_open


class _StreamConnection(Connection, asyncio.Protocol):
    """For an `asyncio.Protocol`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.data_received = self.protocol.data_received  # type: ignore


class _BufferedConnection(Connection, asyncio.BufferedProtocol):
    """For an `asyncio.BufferedProtocol`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.get_buffer = self.protocol.get_buffer  # type: ignore
        self.buffer_updated = self.protocol.buffer_updated  # type: ignore


def connection(
    loop: asyncio.AbstractEventLoop, protocol: asyncio.BaseProtocol, settings: Settings
) -> Connection:
    """Stand before `protocol`, so that the loop sees a protocol of the same kind."""
    is_buffered = isinstance(protocol, asyncio.BufferedProtocol)
    kind = _BufferedConnection if is_buffered else _StreamConnection
    return kind(loop, protocol, settings)
