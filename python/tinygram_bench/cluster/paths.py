"""Measures how fast bytes go from one host to another: one fills the other's sink for a while."""

from __future__ import annotations

import hmac
import os
import socket
import threading
import time

TOKEN_BYTES = 16
_LIMIT_S = 5.0
_FOR_S = 0.25
_BLOCK = bytes(1 << 17)


class Sink:
    """Takes the bytes of one connection that begins with `token`; it listens on `port`."""

    def __init__(self, host: str) -> None:
        """Raises OSError."""
        self.token = os.urandom(TOKEN_BYTES)
        self._listener = socket.create_server((host, 0))
        self._listener.settimeout(_LIMIT_S)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with self._listener:
            while True:
                try:
                    sock, _ = self._listener.accept()
                except OSError:
                    return  # No connection came in time.
                with sock:
                    if self._has_taken(sock):
                        return

    def _has_taken(self, sock: socket.socket) -> bool:
        """Whether it began with the token; then all bytes were read, and their number was told."""
        sock.settimeout(_LIMIT_S)
        try:
            if not hmac.compare_digest(sock.recv(TOKEN_BYTES, socket.MSG_WAITALL), self.token):
                return False
            buffer = bytearray(len(_BLOCK))
            total = 0
            while count := sock.recv_into(buffer):
                total += count
            sock.sendall(total.to_bytes(8, "little"))
        except OSError:
            return False
        return True


def bytes_per_s(host: str, port: int, token: bytes) -> float:
    """Fill the sink there for a quarter of a second; return the rate. Raises OSError."""
    with socket.create_connection((host, port), _LIMIT_S) as sock:
        # Otherwise a slow path would have seconds of bytes in the socket when the time is over.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, len(_BLOCK) // 2)
        sock.sendall(token)
        began_s = time.monotonic()
        while time.monotonic() - began_s < _FOR_S:
            sock.sendall(_BLOCK)
        sock.shutdown(socket.SHUT_WR)
        told = sock.recv(8, socket.MSG_WAITALL)
        took_s = time.monotonic() - began_s
    if len(told) != 8:
        raise OSError("the other host ended the connection early")
    return int.from_bytes(told, "little") / took_s
