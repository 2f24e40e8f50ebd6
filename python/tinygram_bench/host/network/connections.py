"""Connections between the two ends, and by what a client's are known at both of them."""

from __future__ import annotations

import asyncio
import errno
import socket

from tinygram_bench import _native
from tinygram_bench.model.value import Value

_IP_BIND_ADDRESS_NO_PORT = 24
"""From linux/in.h; Python's socket has it from 3.12 on."""
_INTRODUCTION_LIMIT_NS = 10 * 10**9
"""How long a server on another host may take to know a connection."""


class Known(Value, frozen=True):
    """By what a client's connections are known, in every order to the processes of both ends.

    `host`: the address that they come from, null: the kernel picks one, and any will do (decision
    0018). `token`: what they begin with, null: nothing (decision 0034).
    """

    host: str | None = None
    token: bytes | None = None

    @property
    def admission(self) -> _native.Admission:
        """The same as native code takes it, which admits these connections alone."""
        return _native.Admission(self.host, self.token)


def tcp_socket(host: str) -> socket.socket:
    """A socket that listens on that address, or connects to it: of IPv4 or IPv6. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.socket(family, socket.SOCK_STREAM)


def connect_from(sock: socket.socket, own_host: str | None) -> None:
    """Have it connect from this address; None: the kernel picks one. Raises OSError.

    Its port is picked when it connects (ip(7)), as it is without an address of its own.
    """
    if own_host is not None:
        sock.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((own_host, 0))


def introduce(sock: socket.socket, token: bytes | None) -> None:
    """Bring the token on a connection that has just been made; None: it needs none.

    Raises OSError where it is not taken.
    """
    if token is not None:
        Known(token=token).admission.introduce(sock.fileno(), _INTRODUCTION_LIMIT_NS)


async def introduced(sock: socket.socket, token: bytes | None) -> None:
    """The same on an event loop, whose socket does not block."""
    if token is None:
        return
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_INTRODUCTION_LIMIT_NS / 1e9):
        await loop.sock_sendall(sock, token)
        answer = await loop.sock_recv(sock, 1)
    if answer != _native.Admission.ADMITTED:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "the far end does not know its token")
