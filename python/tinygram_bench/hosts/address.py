"""Where a server is, and whether it is `tinygram serve`, which greets; others wait to be asked."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import time
from contextlib import suppress
from typing import NamedTuple

from tinygram_bench.hosts.wire import MAX_GREETING_BYTES, PORT, VERSION, greeted
from tinygram_bench.model.errors import UsageError

_TEXT = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]{1,253}))(?::(?P<port>[0-9]{1,5}))?"
)
_BARE_SIX = re.compile(r"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
REMEDY = (
    "; see that `tinygram serve` runs there and that the network between carries packets, and "
    "measure again"
)
CONNECT_LIMIT_S = 3.0
"""The kernel gives up a silent connection after 4 s; together a lost host is told within 10 s."""
_GREETING_LIMIT_S = 1.0
"""A server of ours greets as soon as it is connected to; others wait to be asked."""


class FarAddress(NamedTuple):
    """The server of `--server`: the text as given, its host (a name or address), and its port."""

    text: str
    host: str
    port: int

    @property
    def named(self) -> str:
        """HOST:PORT, whether the port was named or not."""
        host = self.host.lower()
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def names_port(text: str) -> bool:
    """Whether a port is named beside the host; a bare IPv6 address has colons, too."""
    return _BARE_SIX.fullmatch(text) is None and not text.endswith("]") and ":" in text


def parse_server(text: str) -> FarAddress:
    """Read HOST[:PORT]: a name, or an address of IPv4 or IPv6. Raises UsageError."""
    found = _TEXT.fullmatch(f"[{text}]" if _BARE_SIX.fullmatch(text) else text)
    port = PORT if found is None or found["port"] is None else int(found["port"])
    if found is None or not 1 <= port < 1 << 16 or not _may_be_host(found):
        raise UsageError(
            f"--server {text!r} is not HOST or HOST:PORT: for example --server 192.0.2.7, "
            f"--server 192.0.2.7:{PORT}, or --server [2001:db8::7]:{PORT}"
        )
    address = FarAddress(text, found["six"] or found["host"], port)
    _addresses(address)
    return address


def _may_be_host(found: re.Match[str]) -> bool:
    """Whether what stands in the place of an IPv6 address is one."""
    if found["six"] is not None:
        try:
            ipaddress.IPv6Address(found["six"])
        except ValueError:
            return False
    return True


def _addresses(address: FarAddress) -> list[tuple[str, int]]:
    """The addresses where the server may be, in the order to try; a name is looked up.

    Raises UsageError.
    """
    try:
        known = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"--server {address.text!r} has no address here ({reason}): name an address, or mend "
            "the name"
        ) from error
    found = [(str(each[4][0]), address.port) for each in known]
    if all(_is_of_one_link(host) for host, _ in found):
        raise UsageError(
            f"--server {address.text!r} is an address of one link alone ({found[0][0]}), which "
            "does not say which network device leads to it: name another address of that host"
        )
    return found


def _is_of_one_link(host: str) -> bool:
    address = ipaddress.ip_address(host.partition("%")[0])
    return isinstance(address, ipaddress.IPv6Address) and address.is_link_local


def _connected_socket(address: FarAddress, limit_s: float) -> socket.socket:
    """A connection to the first address that accepts one. Raises OSError and UsageError."""
    addresses = _addresses(address)
    failure = OSError()
    for each in addresses:
        try:
            return socket.create_connection(each, limit_s / len(addresses))
        except OSError as error:
            failure = error
    raise failure


def greeting_of(sock: socket.socket, limit_s: float) -> tuple[int, str | None] | None:
    """The greeting of a connected server: version and key's name; None where it is another server.

    No byte after the greeting is read. Raises OSError, and EOFError where the server ends the
    connection before it has said anything.
    """
    give_up_s = time.monotonic() + limit_s
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_GREETING_BYTES:
        sock.settimeout(max(0.001, give_up_s - time.monotonic()))
        byte = sock.recv(1)
        if not byte and not line:
            raise EOFError
        if not byte:
            return None
        line += byte
    return greeted(line)


def greets(address: FarAddress) -> bool:
    """Whether `tinygram serve` listens there; nothing is sent. False where nothing listens."""
    with suppress(OSError, EOFError), _connected_socket(address, CONNECT_LIMIT_S) as sock:
        return greeting_of(sock, _GREETING_LIMIT_S) is not None
    return False


def connected(address: FarAddress) -> tuple[socket.socket, str | None]:
    """A connection that was greeted, and the name of the server's key. Raises UsageError."""
    named = f"--server {address.text}"
    try:
        sock = _connected_socket(address, CONNECT_LIMIT_S)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else f"no answer in {CONNECT_LIMIT_S:g} s"
        raise UsageError(
            f"{named}: connecting to {address.host} port {address.port} failed: {reason}; start "
            "`tinygram serve --bind ADDRESS` on that host, and see that nothing between blocks "
            "the port"
        ) from error
    try:
        found = greeting_of(sock, CONNECT_LIMIT_S)
    except (EOFError, ConnectionError) as error:
        sock.close()
        raise UsageError(
            f"{named} closed the connection without a greeting: it is ending or hears too many new "
            f"clients (measure again), or {_NOT_OURS}"
        ) from error
    except OSError as error:
        sock.close()
        raise UsageError(
            f"{named} does not greet within {CONNECT_LIMIT_S:g} s: it is stopped, or {_NOT_OURS}"
        ) from error
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
