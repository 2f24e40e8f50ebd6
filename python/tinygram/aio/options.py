"""The event loop's own options, by name, so that a type checker finds a misspelt one.

They are passed to the loop as they are: the loop decides which of them it has, and refuses wrong
values.
"""

from __future__ import annotations

import os
import socket
import ssl
from typing import TypeAlias, TypedDict

Path: TypeAlias = str | bytes | os.PathLike[str]


class _TlsOptions(TypedDict, total=False):
    ssl_handshake_timeout: float | None
    ssl_shutdown_timeout: float | None


class UnixConnectionOptions(_TlsOptions, total=False):
    """Options of `loop.create_unix_connection`."""

    ssl: ssl.SSLContext | bool | None
    sock: socket.socket | None
    server_hostname: str | None


class ConnectionOptions(UnixConnectionOptions, total=False):
    """Options of `loop.create_connection`."""

    family: int
    proto: int
    flags: int
    local_addr: tuple[str, int] | None
    happy_eyeballs_delay: float | None
    interleave: int | None
    all_errors: bool
    """From Python 3.12 on."""


class _ServerOptions(_TlsOptions, total=False):
    ssl: ssl.SSLContext | None
    sock: socket.socket | None
    backlog: int
    start_serving: bool


class UnixServerOptions(_ServerOptions, total=False):
    """Options of `loop.create_unix_server`."""

    cleanup_socket: bool
    """From Python 3.13 on."""


class ServerOptions(_ServerOptions, total=False):
    """Options of `loop.create_server`."""

    family: int
    flags: int
    reuse_address: bool | None
    reuse_port: bool | None
    keep_alive: bool | None
    """From Python 3.13 on."""
