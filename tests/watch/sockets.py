"""Real sockets on loopback, in a state that the tests know."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

T = TypeVar("T")

GIVE_UP_S = 60.0


@contextmanager
def listening(backlog: int = 16) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(backlog)
        yield listener


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client and a server; their listener is gone."""
    with ExitStack() as stack:
        with listening() as listener:
            client = stack.enter_context(socket.create_connection(listener.getsockname()))
            server, _ = listener.accept()
            stack.enter_context(server)
        yield client, server


def fill(sock: socket.socket) -> None:
    """Write until there is no room."""
    sock.setblocking(False)
    try:
        while True:
            sock.send(bytes(1 << 16))
    except BlockingIOError:
        return


def port_of(sock: socket.socket) -> int:
    port = sock.getsockname()[1]
    assert isinstance(port, int)
    return port


def name_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()
    return f"{host}:{port}"


def waited_for(read: Callable[[], T], is_it: Callable[[T], bool]) -> T:
    """What is read, as soon as it is so."""
    give_up_s = time.monotonic() + GIVE_UP_S
    while not is_it(found := read()):
        assert time.monotonic() < give_up_s, f"not within {GIVE_UP_S} s; the last: {found}"
        time.sleep(0.001)
    return found
