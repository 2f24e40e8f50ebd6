"""Measures how fast bytes go from one host to another: one fills the other's sink for a while."""

from __future__ import annotations

import hmac
import os
import socket
import threading
import time

from tinygram_bench.host.network.connections import received_whole

TOKEN_BYTES = 16
TOTAL_BYTES = 8
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
                    if has_taken(sock, self.token):
                        return


def has_taken(sock: socket.socket, token: bytes) -> bool:
    """Whether the connection began with the token; then its other bytes were read and counted.

    It was told how many they are.
    """
    try:
        if not hmac.compare_digest(received_whole(sock, TOKEN_BYTES, _LIMIT_S), token):
            return False
        sock.settimeout(_LIMIT_S)
        buffer = bytearray(len(_BLOCK))
        total = 0
        while count := sock.recv_into(buffer):
            total += count
        sock.sendall(total.to_bytes(TOTAL_BYTES, "little"))
    except OSError:
        return False
    return True


def told_total(sock: socket.socket) -> int:
    """Read how many bytes the sink has counted. Raises OSError."""
    told = received_whole(sock, TOTAL_BYTES, _LIMIT_S)
    if len(told) < TOTAL_BYTES:
        raise OSError("the other host ended the connection early")
    return int.from_bytes(told, "little")


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
        total = told_total(sock)
        took_s = time.monotonic() - began_s
    return total / took_s
