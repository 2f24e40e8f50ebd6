"""The connections of an echo client that encrypts: natively driven, encrypted by the ssl module.

A read returns at most one TLS record, so that reads count the server's records (decision 0035).
"""

from __future__ import annotations

import os
import socket
import ssl

from tinygram_bench.tls.certificates import SERVER_NAME
from tinygram_bench.tls.contexts import MOST_RECORD_BYTES, check_agreed, client_context


class EncryptedConnections:
    """Encrypts one connection after the other; `records`: how many came back on all of them."""

    def __init__(self, certificate: str) -> None:
        self._context = client_context(certificate)
        self._connections: list[_EncryptedConnection] = []

    @property
    def records(self) -> int:
        return sum(each.records for each in self._connections)

    def encrypt(self, fd: int) -> _EncryptedConnection:
        """Make the handshake on a connection, which does not block afterwards. Raises OSError."""
        plain = socket.socket(fileno=os.dup(fd))
        plain.setblocking(True)
        connection = self._context.wrap_socket(plain, server_hostname=SERVER_NAME)
        check_agreed(connection)
        connection.setblocking(False)
        made = _EncryptedConnection(connection)
        self._connections.append(made)
        return made


class _EncryptedConnection:
    """What the native client drives: the `EncryptedConnection` of its stub."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection
        self.records = 0

    def send(self, data: bytes) -> tuple[int, int]:
        """How many bytes were taken, and how many after those are encrypted; a record at a time.

        Given several records at once, OpenSSL tells nothing until it has sent the last one, and by
        then the first ones come back. A record that the kernel does not take whole is kept: OpenSSL
        refuses fewer bytes the next time (SSL_write(3), "bad write retry").
        """
        sent = 0
        while sent < len(data):
            record = data[sent : sent + MOST_RECORD_BYTES]
            try:
                sent += self._connection.send(record)
            except ssl.SSLWantWriteError:
                return sent, len(record)
        return sent, 0

    def receive(self, most: int) -> bytes | None:
        try:
            plain = self._connection.recv(min(most, MOST_RECORD_BYTES))
        except ssl.SSLWantReadError:
            return None
        self.records += bool(plain)
        return plain
