"""The protocol of `sizes` in a few lines of plain Python, as another program would have it."""

from __future__ import annotations

import socket
import struct

from tests.support.foreign_servers import received


def exchange(port: int, length: int, count: int, *, is_joined: bool = False) -> list[int]:
    """One sample of a client; the acknowledged lengths, and nothing may come after them."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        setup = struct.pack("!II", length, count)
        if not (is_joined and count):
            sock.sendall(setup)
            setup = b""
        acknowledged = []
        for _ in range(count):
            sock.sendall(setup + bytes(length))
            setup = b""
            acknowledged.append(struct.unpack("!I", exactly(sock, 4))[0])
        # Without ending our side: the server ends its own.
        assert sock.recv(1) == b""
    return acknowledged


def answer(sock: socket.socket) -> None:
    """One connection of a server."""
    length, count = struct.unpack("!II", exactly(sock, 8))
    for _ in range(count):
        exactly(sock, length)
        sock.sendall(struct.pack("!I", length))


def exactly(sock: socket.socket, count: int) -> bytes:
    data = received(sock, count)
    if len(data) < count:
        raise EOFError(f"{count - len(data)} bytes are missing")
    return data
