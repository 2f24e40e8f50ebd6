"""How servers that are not ours treat a connection of `rr`."""

from __future__ import annotations

import socket

from tests.support.foreign_servers import Treat, received


def replying(request_bytes: int, *replies: bytes) -> Treat:
    """Answer each request with the next of these, and end this side after the last."""

    def treat(connection: socket.socket) -> None:
        for reply in replies:
            if len(received(connection, request_bytes)) < request_bytes:
                return
            connection.sendall(reply)
        # With something unread, closing would be a reset.
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass

    return treat


def saying(request_bytes: int, reply: bytes) -> Treat:
    """Answer every request alike, in a protocol of its own."""

    def treat(connection: socket.socket) -> None:
        while len(received(connection, request_bytes)) == request_bytes:
            connection.sendall(reply)

    return treat


def early(request_bytes: int, reply_bytes: int) -> Treat:
    """Reply before a byte of the request was read."""

    def treat(connection: socket.socket) -> None:
        index = 0
        while True:
            connection.sendall(right_reply(index, reply_bytes))
            if len(received(connection, request_bytes)) < request_bytes:
                return
            index += 1

    return treat


def ahead(request_bytes: int, reply_bytes: int) -> Treat:
    """Send the replies to ten requests together when the first of them has come."""

    def treat(connection: socket.socket) -> None:
        if len(received(connection, request_bytes)) == request_bytes:
            connection.sendall(b"".join(right_reply(index, reply_bytes) for index in range(10)))
        # Until the callers are gone: with something unread, closing would be a reset.
        while connection.recv(1 << 16):
            pass

    return treat


def right_reply(index: int, reply_bytes: int) -> bytes:
    """The reply that is documented for other programs: byte j of reply i is (i + j) modulo 251."""
    return bytes((index + at) % 251 for at in range(reply_bytes))


def right(request_bytes: int, reply_bytes: int) -> Treat:
    """Answer as another program would."""

    def treat(connection: socket.socket) -> None:
        index = 0
        while len(received(connection, request_bytes)) == request_bytes:
            connection.sendall(right_reply(index, reply_bytes))
            index += 1

    return treat
