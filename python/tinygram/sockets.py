"""The checks of a socket, and the socket option that a strategy needs."""

from __future__ import annotations

import socket

from tinygram.strategies import Strategy, nagle


def check_connected_stream(sock: socket.socket) -> None:
    """Raise TypeError or ValueError unless `sock` is a connected stream socket."""
    if not isinstance(sock, socket.socket):
        raise TypeError(f"{sock!r} is not a socket: pass a connected socket.socket")
    if hasattr(sock, "do_handshake"):
        raise ValueError("the socket speaks TLS: batch the plaintext with an event loop instead")
    if sock.fileno() < 0:
        raise ValueError("the socket is closed")
    if sock.type != socket.SOCK_STREAM:
        raise ValueError(
            f"the socket is a {sock.type.name}: expected a stream socket, since datagrams must not "
            "be merged"
        )
    try:
        sock.getpeername()
    except OSError as error:
        raise ValueError(f"the socket is not connected: {error}") from None


def set_nodelay(sock: socket.socket, strategy: Strategy) -> None:
    """Set TCP_NODELAY as the strategy needs it; Unix sockets do not have this option."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(strategy != nagle))
