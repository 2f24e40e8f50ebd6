"""The protocol of `sizes` in a few lines of plain Python, as another program would have it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[socket.socket], None]


def exchange(port: int, length: int, count: int, *, is_joined: bool = False) -> list[int]:
    """One sample of a client; the acknowledged lengths, and nothing may come after them."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
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
    parts = []
    while count:
        part = sock.recv(min(count, 1 << 16))
        if not part:
            raise EOFError(f"{count} bytes are missing")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


@contextmanager
def listening(act: Answer) -> Iterator[int]:
    """A server that does this with each connection, one after the other; its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:

        def serve() -> None:
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                with sock:
                    try:
                        act(sock)
                    except (OSError, EOFError):
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)
        assert not thread.is_alive()
