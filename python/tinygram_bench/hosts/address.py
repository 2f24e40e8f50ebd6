"""Where a server is, and whether it is `tinygram serve`: it greets, and others wait to be asked."""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import suppress
from typing import NamedTuple

from tinygram_bench.hosts.wire import MAX_GREETING_BYTES, PORT, VERSION, greeted
from tinygram_bench.model.errors import UsageError

_TEXT = re.compile(r"([A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")
CONNECT_LIMIT_S = 5.0
_GREETING_LIMIT_S = 1.0
"""A server of ours greets as soon as it is connected to; others wait to be asked."""


class FarAddress(NamedTuple):
    """The server of `--server`: as it was named, and its IPv4 address."""

    text: str
    host: str
    port: int


def parse_server(text: str) -> FarAddress:
    """Read HOST[:PORT]; a name is looked up. Raises UsageError."""
    found = _TEXT.fullmatch(text)
    port = PORT if found is None or found[2] is None else int(found[2])
    if found is None or not 1 <= port < 1 << 16:
        raise UsageError(
            f"--server {text!r} is not HOST or HOST:PORT: for example --server 192.0.2.7, or "
            f"--server 192.0.2.7:{PORT}"
        )
    try:
        known = socket.getaddrinfo(found[1], port, socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(
            f"--server {text!r} has no IPv4 address here ({error.strerror}): name an "
            "address, or mend the name"
        ) from error
    return FarAddress(text, str(known[0][4][0]), port)


def greeting_of(sock: socket.socket, limit_s: float) -> tuple[int, str | None] | None:
    """The greeting of a connected server (wire.py); None where another one is there.

    No byte after the greeting is read. Raises OSError.
    """
    give_up_s = time.monotonic() + limit_s
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_GREETING_BYTES:
        sock.settimeout(max(0.001, give_up_s - time.monotonic()))
        byte = sock.recv(1)
        if not byte:
            return None
        line += byte
    return greeted(line)


def greets(address: FarAddress) -> bool:
    """Whether `tinygram serve` listens there; nothing is sent. False where nobody does."""
    with suppress(OSError), socket.create_connection(address[1:], CONNECT_LIMIT_S) as sock:
        return greeting_of(sock, _GREETING_LIMIT_S) is not None
    return False


def connected(address: FarAddress) -> tuple[socket.socket, str | None]:
    """A connection that was greeted, and the server's key's name. Raises UsageError."""
    named = f"--server {address.text}"
    try:
        sock = socket.create_connection(address[1:], CONNECT_LIMIT_S)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else f"no answer in {CONNECT_LIMIT_S:g} s"
        raise UsageError(
            f"{named}: connecting to {address.host} port {address.port} failed: {reason}; start "
            "`tinygram serve --bind ADDRESS` on that host, and see that nothing between blocks "
            "the port"
        ) from error
    try:
        found = greeting_of(sock, CONNECT_LIMIT_S)
    except OSError as error:
        sock.close()
        raise UsageError(f"{named} does not greet: {_NOT_OURS}") from error
    if found is None:
        sock.close()
        raise UsageError(f"{named} greets otherwise: {_NOT_OURS}")
    version, key_name = found
    if version != VERSION:
        sock.close()
        raise UsageError(
            f"{named} speaks version {version} of the control connection, and this tinygram "
            f"version {VERSION}: install the same tinygram on both hosts"
        )
    return sock, key_name


_NOT_OURS = (
    "another program listens there; start `tinygram serve` on that host, or name the port that "
    "it prints"
)
