"""Connections between the two ends, and how a client's connections are known at both."""

from __future__ import annotations

import socket
import time
from typing import Any

from tinygram_bench import _native
from tinygram_bench.model.value import Value

BACKLOG = 4096
"""The backlog: long enough that strangers without a token leave room for the client."""
_IP_BIND_ADDRESS_NO_PORT = 24
"""From linux/in.h; Python's socket module has it from 3.12 on."""
_SILENT_S, _EVERY_S, _TIMES = 1, 1, 3
_UNANSWERED_MS = 4_000
INTRODUCTION_LIMIT_NS = 10 * 10**9
"""How long a server on another host may take to admit a connection."""


class Known(Value, frozen=True):
    """How a client's connections are known, in every order to the processes of both ends.

    `host`: the address from which they come, None: the kernel picks one, and any will do (decision
    0018). `token`: the bytes with which they begin, None: nothing (decision 0034).
    """

    host: str | None = None
    token: bytes | None = None

    @property
    def admission(self) -> _native.Admission:
        """The same for native code, which then admits only these connections."""
        return _native.Admission(self.host, self.token)


class Listener(socket.socket):
    """Listens for one client, on a port that the kernel picks; all other peers are strangers."""

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
        """Tell the client that its accepted connection is admitted; False: it is a stranger's.

        A stranger's connection is counted, and the caller must close it. Call this once for each
        connection, before anything is read. `peer`: its address; None: the connection has ended
        already.
        """
        is_known = self._client.admit(fd, peer[0] if peer else None)
        self.strangers += not is_known
        return is_known

    def accept_known(self) -> tuple[socket.socket, Any]:
        """The client's next connection, and its address; strangers that come before are closed."""
        while True:
            sock, peer = super().accept()
            if self.admit(sock.fileno(), peer):
                return sock, peer
            sock.close()


def tcp_socket(host: str) -> socket.socket:
    """A socket to listen on that address, or connect to it, of IPv4 or IPv6. Raises OSError."""
    return socket.socket(_family(host), socket.SOCK_STREAM)


def connect_from(sock: socket.socket, own_host: str | None) -> None:
    """Have the socket connect from this address; None: the kernel picks one. Raises OSError.

    Its port is picked when it connects (ip(7)), as it is without an address of its own.
    """
    if own_host is not None:
        sock.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((own_host, 0))


def unconnected_socket(
    host: str, congestion_control: str, own_host: str | None, *, is_nodelay: bool = False
) -> socket.socket:
    """A socket with its options, to connect to `host` from this address. Raises OSError.

    `own_host` None: the kernel picks the address.
    """
    sock = tcp_socket(host)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, is_nodelay)
    connect_from(sock, own_host)
    return sock


def introduce(sock: socket.socket, token: bytes | None) -> None:
    """Send the token on a connection that has just been made; None: it needs none.

    Raises OSError where the connection is not admitted.
    """
    if token is not None:
        _native.Admission(None, token).introduce(sock.fileno(), INTRODUCTION_LIMIT_NS)


def received_whole(sock: socket.socket, length: int, limit_s: float) -> bytes:
    """The next `length` bytes, however they are cut; fewer where the connection ends before.

    A socket with a timeout returns a part in spite of MSG_WAITALL, because it does not block. This
    changes the socket's timeout. Raises OSError, also when all have not come in time.
    """
    give_up_s = time.monotonic() + limit_s
    received = b""
    while len(received) < length:
        left_s = give_up_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        sock.settimeout(left_s)
        more = sock.recv(length - len(received))
        if not more:
            break
        received += more
    return received


def end_when_silent(sock: socket.socket) -> None:
    """Have the kernel end the connection when the peer is silent, or takes nothing, for 4 s.

    Such a peer has died, or is cut off. Connecting ends then, too. The kernel itself asks, so that
    no process of a measurement wakes up.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _EVERY_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _TIMES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNANSWERED_MS)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
