"""Servers that do wrong, or that are not ours: each connection is treated by a function."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Treat = Callable[[socket.socket], None]


def after_first(first: Treat, then: Treat) -> Treat:
    """The first connection, which only asks whether there is an answer, and all others."""
    has_come = threading.Event()

    def treat(connection: socket.socket) -> None:
        is_first = not has_come.is_set()
        has_come.set()
        (first if is_first else then)(connection)

    return treat


@contextmanager
def peer(treat: Treat) -> Iterator[int]:
    """A server on a port of 127.0.0.1, a thread for each connection; yields the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    threads: list[threading.Thread] = []

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            treat(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                thread = threading.Thread(target=handle, args=(connection,), daemon=True)
                thread.start()
                threads.append(thread)

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        # Closing alone would not wake who accepts.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(timeout=10)
        for thread in threads:
            thread.join(timeout=10)


def received(connection: socket.socket, length: int) -> bytes:
    """The next `length` bytes; fewer at the end."""
    data = b""
    while len(data) < length and (more := connection.recv(length - len(data))):
        data += more
    return data
