"""Connections between the two ends, and by what a client's are known at both of them."""

from __future__ import annotations

import socket
from typing import Any

from tinygram_bench import _native
from tinygram_bench.model.value import Value

BACKLOG = 4096
"""Enough places that strangers who have brought nothing yet leave some for the client."""
_IP_BIND_ADDRESS_NO_PORT = 24
"""From linux/in.h; Python's socket has it from 3.12 on."""
_SILENT_S, _EVERY_S, _TIMES = 1, 1, 3
_UNANSWERED_MS = 4_000
INTRODUCTION_LIMIT_NS = 10 * 10**9
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


class Listener(socket.socket):
    """Listens for one client, on a port that the kernel picks; all others are strangers."""

    def __init__(
        self,
        host: str,
        client: Known,
        congestion_control: str | None = None,
        backlog: int = BACKLOG,
    ) -> None:
        """Raises OSError."""
        super().__init__(_family(host), socket.SOCK_STREAM)
        self.strangers = 0
        """How many connections were turned away so far."""
        self._client = client.admission
        try:
            if congestion_control is not None:
                control = congestion_control.encode()
                self.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
            self._client.guard(self.fileno())
            self.bind((host, 0))
            self.listen(backlog)
        except BaseException:
            self.close()
            raise

    @property
    def port(self) -> int:
        return int(self.getsockname()[1])

    def admit(self, fd: int, peer: tuple[Any, ...] | None) -> bool:
        """Tell the client that its accepted connection is taken; false: it is a stranger's.

        A stranger's connection is counted, and is then to be closed. Ask once for each connection,
        before anything is read. `peer`: its address; None: the connection has ended already.
        """
        is_known = self._client.admit(fd, peer[0] if peer else None)
        self.strangers += not is_known
        return is_known

    def accept_known(self) -> tuple[socket.socket, Any]:
        """The client's next connection, and its address; strangers that come before are ended."""
        while True:
            sock, peer = super().accept()
            if self.admit(sock.fileno(), peer):
                return sock, peer
            sock.close()


def tcp_socket(host: str) -> socket.socket:
    """A socket that listens on that address, or connects to it: of IPv4 or IPv6. Raises OSError."""
    return socket.socket(_family(host), socket.SOCK_STREAM)


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
        _native.Admission(None, token).introduce(sock.fileno(), INTRODUCTION_LIMIT_NS)


def end_when_silent(sock: socket.socket) -> None:
    """Have the kernel end the connection when the peer is silent, or takes nothing, for 4 s.

    It died, or is cut off. Connecting ends then, too. The kernel asks by itself, so that no process
    of a measurement wakes up.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _EVERY_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _TIMES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNANSWERED_MS)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
