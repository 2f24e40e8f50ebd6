"""Connections and servers of one event loop, whichever it is, with coalescing transports."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from tinygram.aio.connection import Connection, ProtocolFactory, Settings, connection
from tinygram.aio.transport import Transport

Made = tuple[asyncio.Transport, asyncio.BaseProtocol]

_HANDSHAKE_S = 60.0
"""How long a handshake may take in asyncio and uvloop, unless they are told otherwise."""


class Connecting:
    """Our versions of a loop's methods that make or change stream connections.

    `loop` is the loop that protocols see; `base` has its methods without coalescing. Each of our
    methods raises what the loop's own method raises.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, base: Any, settings: Settings) -> None:
        self.loop = loop
        self.is_asyncio = isinstance(loop, asyncio.SelectorEventLoop)
        self._base = base
        self.settings = settings

    async def connect(
        self, method: str, /, protocol_factory: ProtocolFactory, *args: Any, **kwargs: Any
    ) -> Made:
        """Make a connection that coalesces, with the loop's own `method`."""
        connect = getattr(self._base, method)
        if isinstance(protocol_factory, _Above):
            below: Made = await connect(protocol_factory, *args, **kwargs)
            return below
        made: list[tuple[Transport, asyncio.BaseProtocol]] = []
        above = _Above(self, protocol_factory, made, self._lent_socket(method, args, kwargs))
        try:
            await connect(above, *args, **kwargs)
        except BaseException:
            for transport, _ in made:
                transport._on_cancelled()
            raise
        return made[-1]

    def _lent_socket(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> socket.socket | None:
        """The socket that the program gave, if the program can close it before the connection ends.

        None for uvloop, which keeps the socket open until then.
        """
        if not self.is_asyncio:
            return None
        given = kwargs.get("sock")
        if method == "connect_accepted_socket" and args:
            given = args[0]
        return given if isinstance(given, socket.socket) else None

    async def serve(
        self, method: str, /, protocol_factory: ProtocolFactory, *args: Any, **kwargs: Any
    ) -> Any:
        """Make a server whose connections coalesce, with the loop's own `method`."""
        if not isinstance(protocol_factory, _Above):
            protocol_factory = _Above(self, protocol_factory)
        return await getattr(self._base, method)(protocol_factory, *args, **kwargs)

    async def start_tls(self, transport: Any, protocol: Any, *args: Any, **kwargs: Any) -> Any:
        """Start TLS like the stock loop; from now on plaintext is held, above the encryption."""
        if not isinstance(transport, Transport):
            return await self._base.start_tls(transport, protocol, *args, **kwargs)
        above = connection(self.loop, protocol, transport._settings)
        above.lent_socket = transport._lent_socket
        below = transport._below()
        if transport._is_blocked:
            limit_s = kwargs.get("ssl_handshake_timeout") or _HANDSHAKE_S
            await _written_before_tls(transport, below, limit_s)
        below.set_write_buffer_limits()
        encrypted = await self._base.start_tls(below, above, *args, **kwargs)
        # The transport below belongs to TLS now, and only `above` is told of its end.
        transport._is_lost = True
        return encrypted and above.attach(encrypted)

    async def sendfile(self, transport: Any, *args: Any, **kwargs: Any) -> int:
        """Send the file like the stock loop, after what is held."""
        if not isinstance(transport, Transport):
            return int(await self._base.sendfile(transport, *args, **kwargs))
        with transport._diverted() as below:
            return int(await self._base.sendfile(below, *args, **kwargs))


async def _written_before_tls(
    transport: Transport, below: asyncio.Transport, limit_s: float
) -> None:
    """Wait until the kernel has taken what was written.

    The loop would tell TLS otherwise to write again, though TLS had never been told to stop. What
    comes meanwhile may be for TLS: it is not read. As the loop's own `start_tls` does, this
    closes the connection where it fails.
    """
    below.pause_reading()
    try:
        async with asyncio.timeout(limit_s):
            await transport._until_written()
        if transport._is_lost or below.is_closing():
            raise ConnectionAbortedError("the connection was lost before TLS began")
    except TimeoutError as error:
        below.close()
        raise ConnectionAbortedError(
            f"what was written before TLS was not taken within {limit_s} s"
        ) from error
    except BaseException:
        below.close()
        raise


class _Above:
    """A protocol factory that puts a `Connection` before the program's protocol, noted in `made`.

    uvloop's methods, given a Unix socket, call other methods of ours with this factory: those must
    not wrap it again.
    """

    def __init__(
        self,
        connecting: Connecting,
        factory: ProtocolFactory,
        made: list[tuple[Transport, asyncio.BaseProtocol]] | None = None,
        lent_socket: socket.socket | None = None,
    ) -> None:
        self._connecting = connecting
        self._factory = factory
        self._made = made
        self._lent_socket = lent_socket

    def __call__(self) -> Connection:
        above = connection(self._connecting.loop, self._factory(), self._connecting.settings)
        above.made = self._made
        above.lent_socket = self._lent_socket
        return above
