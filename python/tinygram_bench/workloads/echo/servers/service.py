"""What all servers under test share: their order, and what they do with each new connection."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from tinygram_bench import _native
from tinygram_bench.host.network.connections import Listener
from tinygram_bench.workloads.echo.order import PER_READ, WHOLE_BUFFER, ServerOrder

if TYPE_CHECKING:
    import asyncio
    import ssl

    from tinygram_bench.tls.certificates import Identity

Data = bytes | bytearray | memoryview
Replies = Callable[[Data], Sequence[Data]]
"""Makes the replies to what was read; each needs one send call."""


class Connection(Protocol):
    """The methods that sockets have in common with what event loops give in their place."""

    def fileno(self) -> int: ...

    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...


class Service:
    """One server's order, and what all servers do in the same way."""

    def __init__(self, order: ServerOrder, announce: Callable[[int], None]) -> None:
        """`announce` gets the port for clients."""
        self.order = order
        self.announce = announce
        self.buffer_bytes = order.buffer_bytes
        self.sends_whole_buffer = order.fault == WHOLE_BUFFER
        self.tls = None if order.tls is None else _context(order.tls)
        self.asks_at_accept = order.tls is not None and order.client.token is not None
        """Whether a stranger is turned away when it is accepted, before TLS begins."""
        self.strangers: Callable[[], int] = lambda: 0
        """How many connections were turned away so far; the code that listens sets it."""

    def listening(self, kind: type[Listener] = Listener) -> Listener:
        """A socket that listens; its port has been announced."""
        order = self.order
        self._listener = listener = kind(order.host, order.client, order.congestion_control)
        self.strangers = lambda: listener.strangers
        self.announce(listener.port)
        return listener

    def begin(self, transport: asyncio.BaseTransport) -> bool:
        """Prepare an event loop's new connection; False: it was a stranger's, and was ended."""
        sock = transport.get_extra_info("socket")
        peer = transport.get_extra_info("peername")
        if not (self.asks_at_accept or self._listener.admit(sock.fileno(), peer)):
            cast("asyncio.Transport", transport).abort()
            return False
        self.accepted(sock)
        return True

    def accepted(self, connection: Connection) -> None:
        """Set a new connection's TCP_NODELAY as the strategy wants it, and count its writes."""
        is_on = int(self.order.strategy.name != "nagle")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, is_on)
        _native.watch_more_writes([connection.fileno()])

    def replies(self) -> Replies:
        """The function that makes one connection's replies."""
        if self.order.reply == PER_READ:
            return _whole
        return Messages(self.order.message_bytes).cut


def _context(identity: Identity) -> ssl.SSLContext:
    from tinygram_bench.tls.contexts import server_context

    return server_context(identity)


def _whole(data: Data) -> Sequence[Data]:
    return (data,)


class Messages:
    """Cuts what one connection brings into messages of one size."""

    def __init__(self, message_bytes: int) -> None:
        self._message_bytes = message_bytes
        self._incomplete = b""

    def cut(self, data: Data) -> Sequence[Data]:
        """The messages that are complete with `data`; an incomplete one is kept."""
        size = self._message_bytes
        if self._incomplete or not isinstance(data, bytes):
            data = self._incomplete + bytes(data)
        end = len(data) - len(data) % size
        self._incomplete = data[end:]
        return [data[at : at + size] for at in range(0, end, size)]
