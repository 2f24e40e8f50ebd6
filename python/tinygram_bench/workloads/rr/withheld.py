"""Checks that a server waits for the whole request before it replies, before a run's callers.

The callers (calling/) notice a reply that comes before its request has begun. A reply to a part of
a request shows only if the rest is withheld, which no measured call can do.
"""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import ExitStack, suppress

from tinygram_bench.host.network.connections import (
    connect_from,
    end_when_silent,
    introduce,
    tcp_socket,
)
from tinygram_bench.links import Link
from tinygram_bench.processes.workers import RunError
from tinygram_bench.tls.certificates import SERVER_NAME
from tinygram_bench.tls.contexts import client_context
from tinygram_bench.workloads.rr.calling import early_bytes

REQUESTS = 1
"""How many requests this module sends to the server."""
_PATIENCE_S = 0.01
"""How long, beyond two round trips, the last byte is withheld."""
_READ_BYTES = 1 << 16


def check_waits(
    address: tuple[str, int],
    request: bytes,
    reply_bytes: int,
    give_up_ns: int,
    link: Link,
    *,
    is_ours: bool,
    certificate: str | None = None,
) -> None:
    """Send `request` without its last byte from the near host; look for a reply; finish the call.

    The callers report whatever else is wrong with the server. If the server is ours, this waits for
    the end of the connection, so that it does not count among the callers' connections.
    `certificate`: the one that the server must show; None: nothing is encrypted.

    Raises RunError where bytes came too early, where connecting fails, and at `give_up_ns`; if
    `tinygram serve` on another host has started the server, also after 4 s of silence.
    """
    with link.near.entered():
        # A socket stays in the network in which it was made.
        sock = tcp_socket(address[0])
    with ExitStack() as stack:
        stack.enter_context(sock)
        connect_from(sock, link.client.host)
        if link.is_elsewhere:
            end_when_silent(sock)
        try:
            round_trip_s = _connect(sock, address, give_up_ns, link.client.token)
            if certificate is not None:
                sock = stack.enter_context(_encrypted(sock, certificate, give_up_ns))
            _send(sock, request[:-1], give_up_ns)
            early = _early_bytes(sock, _PATIENCE_S + 2 * round_trip_s)
            if early:
                raise RunError(
                    "the server replied before it had the whole request: when only the request's "
                    f"last byte was not sent yet, {early} bytes of a reply had arrived"
                )
            _send(sock, request[-1:], give_up_ns)
            _receive(sock, reply_bytes, give_up_ns)
            if is_ours:
                sock.shutdown(socket.SHUT_WR)
                _receive(sock, 1, give_up_ns)
        except TimeoutError as error:
            raise RunError("the server did not reply to its first request in time") from error
        except OSError as error:
            where = f"{address[0]}:{address[1]}"
            raise RunError(f"the connection to {where} was lost: {error.strerror}") from error


def _connect(
    sock: socket.socket, address: tuple[str, int], give_up_ns: int, token: bytes | None
) -> float:
    """Connect; return how long that took, in s, which is a round trip and more."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    began_s = time.monotonic()
    _limit(sock, give_up_ns)
    try:
        sock.connect(address)
        took_s = time.monotonic() - began_s
        introduce(sock, token)
    except TimeoutError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise RunError(f"connecting to {address[0]}:{address[1]} failed: {reason}") from error
    return took_s


def _encrypted(sock: socket.socket, certificate: str, give_up_ns: int) -> socket.socket:
    _limit(sock, give_up_ns)
    try:
        return client_context(certificate).wrap_socket(sock, server_hostname=SERVER_NAME)
    except TimeoutError:
        raise
    except OSError as error:
        raise RunError(f"the handshake with the server failed: {error}") from error


def _send(sock: socket.socket, data: bytes, give_up_ns: int) -> None:
    _limit(sock, give_up_ns)
    with _ended():
        sock.sendall(data)


def _early_bytes(sock: socket.socket, patience_s: float) -> int:
    """How many bytes can be read after `patience_s`, or as soon as the first of them comes."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    poll.poll(patience_s * 1000)
    # A socket with a timeout would wait for bytes, whatever the flags say.
    sock.setblocking(False)
    with _ended():
        return early_bytes(sock, _READ_BYTES)
    return 0


def _receive(sock: socket.socket, length: int, give_up_ns: int) -> None:
    """Read `length` bytes, or up to the end of the connection."""
    with _ended():
        while length:
            _limit(sock, give_up_ns)
            count = len(sock.recv(min(length, _READ_BYTES)))
            if not count:
                return
            length -= count


def _limit(sock: socket.socket, give_up_ns: int) -> None:
    left_s = (give_up_ns - time.monotonic_ns()) / 1e9
    if left_s <= 0:
        raise TimeoutError
    sock.settimeout(left_s)


def _ended() -> suppress:
    """Ignore a server's ending of the connection, even by a reset: the callers report it."""
    return suppress(ConnectionError)
