"""The servers under test: declared here, once.

To add a server, write a module with `serve(service)`, which listens, says so, and serves until it
is ended; and add a line to SERVERS. Servers of several runtimes or implementations may share a
module.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct

from tinygram_bench.ways.rows import Row
from tinygram_bench.ways.runtimes import LIBRARY, SHARED
from tinygram_bench.workloads.echo.order import WHOLE_BUFFER

if TYPE_CHECKING:
    from tinygram_bench.workloads.echo.servers.service import Service

Serve: TypeAlias = "Callable[[Service], None]"


class Server(Row, Struct, frozen=True):
    """A server on a runtime, in one implementation.

    `per_read`, `per_message`: the strategies that run unless others are asked for, by the way of
    replying. With replies per read every strategy makes one write of each read, so most servers
    have one. `is_default` false: the server runs only where its implementation is asked for.
    `has_buffer`: whether it reads into a buffer of the size that is asked for, instead of the event
    loop's own. `has_tls`: whether it can encrypt.
    """

    runtime: str
    implementation: str
    name: str
    module: str
    strategies: tuple[str, ...]
    per_read: tuple[str, ...]
    per_message: tuple[str, ...]
    has_buffer: bool = True
    is_default: bool = True
    faults: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    has_tls: bool = False
    imports: tuple[str, ...] = ()

    def load(self) -> Serve:
        """Its `serve`, after importing all that it uses: later imports would not be frozen."""
        self.import_used()
        module = importlib.import_module(f"{__name__}.{self.module}")
        return cast("Serve", module.serve)


_BY_HAND = (("nodelay", "nagle"), ("nodelay",), ("nodelay",))
_LIBRARY = (LIBRARY, ("adaptive",), ("tick", "adaptive"))
_LIMIT = (LIBRARY, ("nodelay",), ("nodelay", "tick"))
_SHARED = (SHARED, ("adaptive",), ("combine", "adaptive"))
_AIOFASTNET = (("nodelay",), ("nodelay",), ("nodelay",))
"""Each: `strategies`, `per_read`, `per_message`."""
_FAULTY = (WHOLE_BUFFER,)


def _event_loop_servers(runtime: str, requires: tuple[str, ...] = ()) -> tuple[Server, ...]:
    """The servers by hand and on the library's loop, which does not affect `loop.sock_sendall`."""

    def by_hand(name: str, module: str, *, has_buffer: bool = True) -> Server:
        return Server(
            *(runtime, "stdlib", name, module, *_BY_HAND, has_buffer),
            requires=requires,
            # `loop.sock_sendall` writes to the kernel directly, without TLS.
            has_tls=name != "sock",
        )

    def library(name: str, module: str, *, has_buffer: bool, is_default: bool) -> Server:
        return Server(
            *(runtime, "tinygram", name, module, *_LIBRARY, has_buffer, is_default),
            requires=requires,
            has_tls=True,
            imports=("tinygram.aio.loop",),
        )

    def aiofastnet(name: str, module: str, *, has_buffer: bool) -> Server:
        return Server(
            *(runtime, "aiofastnet", name, module, *_AIOFASTNET, has_buffer),
            is_default=False,
            requires=(*requires, "aiofastnet"),
            has_tls=True,
        )

    return (
        by_hand("sock", "loop_sock"),
        by_hand("streams", "loop_streams"),
        by_hand("protocol", "loop_protocol", has_buffer=False),
        by_hand("buffered-protocol", "loop_buffered_protocol"),
        library("streams", "loop_streams", has_buffer=True, is_default=False),
        library("protocol", "loop_protocol", has_buffer=False, is_default=True),
        library("buffered-protocol", "loop_buffered_protocol", has_buffer=True, is_default=False),
        aiofastnet("protocol", "loop_protocol", has_buffer=False),
        aiofastnet("buffered-protocol", "loop_buffered_protocol", has_buffer=True),
    )


SERVERS = (
    *_event_loop_servers("asyncio"),
    *_event_loop_servers("uvloop", ("uvloop",)),
    Server("threads", "stdlib", "recv", "threads_recv", *_BY_HAND, has_tls=True),
    Server(
        *("threads", "stdlib", "recv_into", "threads_recv_into", *_BY_HAND),
        faults=_FAULTY,
        has_tls=True,
    ),
    Server(
        *("threads", "stdlib", "recvmsg_into", "threads_recvmsg_into", *_BY_HAND),
        faults=_FAULTY,
    ),
    Server("threads", "tinygram", "recv_into", "threads_recv_into", *_SHARED),
    Server("native", "tinygram", "epoll", "native", *_LIMIT, faults=_FAULTY),
)
"""In the order of the tables."""


def server(runtime: str, implementation: str, name: str) -> Server:
    """The server of that name. Raises LookupError."""
    for known in SERVERS:
        if (known.runtime, known.implementation, known.name) == (runtime, implementation, name):
            return known
    raise LookupError(f"no server {name} on {runtime} by {implementation}")
