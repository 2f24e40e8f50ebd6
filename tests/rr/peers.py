"""How servers that are not ours treat a connection of `rr`."""

from __future__ import annotations

import socket

from tests.peers import Treat, received


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


def right(request_bytes: int, reply_bytes: int) -> Treat:
    """Answer as another program would: byte j of reply i is (i + j) modulo 251."""

    def treat(connection: socket.socket) -> None:
        index = 0
        while len(received(connection, request_bytes)) == request_bytes:
            connection.sendall(bytes((index + at) % 251 for at in range(reply_bytes)))
            index += 1

    return treat
