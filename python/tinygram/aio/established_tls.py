"""asyncio's TLS once its handshake is over, with less Python code for each message.

Laws: the handshake, the shutdown, the end of the stream, errors and flow control are asyncio's own
code. Only what happens while none of them has anything to do is shorter here. TLS that is not as
this module knows it, of another Python for example, is left as it is.
"""

from __future__ import annotations

import socket
import ssl
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from asyncio.sslproto import SSLAgainErrors, SSLProtocol, SSLProtocolState
from collections import deque
from typing import Any

from tinygram import _native

_ESTABLISHED = SSLProtocolState.WRAPPED


class EstablishedTls(SSLProtocol):
    """asyncio's protocol of TLS with short ways; no program makes one (see `established`)."""

    # What asyncio's own has, and the short ways use.
    _app_protocol_buffer_updated: Any
    _app_protocol_get_buffer: Any
    _app_protocol_is_buffer: bool
    _app_reading_paused: bool
    _app_writing_paused: bool
    _call_eof_received: Any
    _control_ssl_reading: Any
    _do_read: Any
    _do_write: Any
    _incoming: ssl.MemoryBIO
    _outgoing: ssl.MemoryBIO
    _process_outgoing: Any
    _ssl_buffer_view: memoryview
    _ssl_reading_paused: bool
    _ssl_writing_paused: bool
    _sslobj: Any
    _state: SSLProtocolState
    _transport: Any
    _write_backlog: deque[Any]

    def connection_lost(self, exc: BaseException | None) -> None:
        """Let go of the native code that reads, which refers to both."""
        if isinstance(self._transport, _SelectorSocketTransport):
            self._transport._read_ready_cb = None
        super().connection_lost(exc)

    def get_buffer(self, n: int) -> memoryview:  # noqa: ARG002
        """The buffer for what the transport below reads next."""
        return self._ssl_buffer_view

    def buffer_updated(self, nbytes: int) -> None:
        """Decrypt what was read, and give it to the protocol."""
        if (
            self._state is not _ESTABLISHED
            or self._app_reading_paused
            or not self._app_protocol_is_buffer
        ):
            super().buffer_updated(nbytes)
            return
        self._incoming.write(self._ssl_buffer_view[:nbytes])
        try:
            self._do_read__buffered()
            if self._write_backlog:
                self._do_write()
            elif self._outgoing.pending:
                self._process_outgoing()
            if self._ssl_reading_paused or self._incoming.pending:
                self._control_ssl_reading()
        except Exception as error:  # noqa: BLE001 - as asyncio: it ends the connection
            self._fatal_error(error, "Fatal error on SSL protocol")

    def _do_read__buffered(self) -> None:
        """Fill the protocol's buffer with what can be decrypted; asyncio's own way calls it, too.

        A record is read from no further than its end. So where no ciphertext is left there is
        nothing to ask OpenSSL for: that it has nothing would be an exception, which takes longer
        than to decrypt a small record.
        """
        incoming, read = self._incoming, self._sslobj._sslobj.read
        buffer = self._app_protocol_get_buffer(incoming.pending)
        size = len(buffer)
        filled, count = 0, 1
        try:
            filled = count = read(size, buffer)
            while count and filled < size and incoming.pending:
                # A slice of a bytearray would be a copy.
                count = read(size - filled, memoryview(buffer)[filled:])
                filled += count
        except SSLAgainErrors:
            pass  # The rest of a record is still to come.
        if filled:
            if filled == size:
                self._loop.call_soon(self._do_read)
            self._app_protocol_buffer_updated(filled)
        if not count:
            self._call_eof_received()
            self._start_shutdown()

    def write(self, data: bytes) -> None:
        """Encrypt the message and send it, as the transport's `write` does."""
        if (
            data
            and self._state is _ESTABLISHED
            and not self._ssl_writing_paused
            and not self._app_writing_paused
            and not self._write_backlog
        ):
            try:
                data = data[self._sslobj._sslobj.write(data) :]
                self._transport.write(self._outgoing.read())
            except SSLAgainErrors:
                pass  # OpenSSL asks for the same message again, which asyncio's own way keeps.
            except Exception as error:  # noqa: BLE001 - as asyncio: it ends the connection
                self._fatal_error(error, "Fatal error on SSL protocol")
                return
        if data:
            self._write_appdata([data])


_KNOWN = (
    *EstablishedTls.__annotations__,
    *("_fatal_error", "_loop", "_start_shutdown", "_write_appdata"),
)

_KNOWN_BELOW = (
    *("_add_reader", "_buffer", "_conn_lost", "_fatal_error", "_read_ready_cb"),
    *("_read_ready__get_buffer", "_read_ready__on_eof", "_sock_fd"),
)


def established(transport: Any, lent_socket: socket.socket | None = None) -> Any:
    """Give asyncio's transport of TLS the short ways; returns what messages are to be written to.

    That is `transport` itself where its TLS is not as this module knows it, and stays as it is.
    `lent_socket`: the one that the program gave, and may close.
    """
    tls = getattr(transport, "_ssl_protocol", None)
    if not _is_known(tls):
        return transport
    tls.__class__ = EstablishedTls
    return _straight(tls, lent_socket)


def _straight(tls: Any, lent_socket: socket.socket | None) -> Any:
    """Have native code call OpenSSL and the kernel, where both are as it knows them."""
    below = tls._transport
    if type(below) is not _SelectorSocketTransport:
        return tls
    if not all(hasattr(below, name) for name in _KNOWN_BELOW):
        return tls
    straight = _native.StraightTls.of(tls, below, tls._sslobj._sslobj, _ESTABLISHED, lent_socket)
    if straight is None:
        return tls
    below._read_ready_cb = straight.read_ready
    if below.is_reading():
        below._add_reader(below._sock_fd, straight.read_ready)
    return straight


def _is_known(tls: Any) -> bool:
    if type(tls) is not SSLProtocol or not all(hasattr(tls, name) for name in _KNOWN):
        return False
    # A program's own class of what encrypts may have methods of its own.
    encryption = getattr(tls, "_sslobj", None)
    return type(encryption) is ssl.SSLObject and hasattr(encryption, "_sslobj")
