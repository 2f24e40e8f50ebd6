"""Coalescing for many threads that send on one connection."""

from __future__ import annotations

import atexit
import socket
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType, TracebackType
from typing import Self, Unpack

from tinygram import _native
from tinygram.errors import ConnectionFailedError, DeliveryTimeoutError
from tinygram.sockets import check_connected_stream, set_nodelay
from tinygram.stats import Stats, stats_of
from tinygram.strategies import KnobArguments, adaptive, native_knobs, tick

_DEFAULTS: KnobArguments = {"max_bytes": 256 << 10}
"""A batch costs a change to the writing thread and back, besides the write: larger ones pay."""


class CoalescingSocket(_native.CoalescingSocket):
    """Sends whole messages of any thread on one connected stream socket, in the order of the calls.

        sock = tinygram.CoalescingSocket(socket.create_connection(address))
        sock.send(frame)            # from any thread
        sock.close(timeout_s=5)     # delivered, or an error that says what was not

    While the connection is idle a few messages are written by the thread that sends them. What
    gathers is written by one native thread of the process, which needs no GIL, or by the next
    thread that sends, where that is late. `send`
    waits only while `max_buffered_bytes` (1 MiB) are held: as long as the socket's timeout says,
    a non-blocking socket raises BlockingIOError at once. Reading is the socket's own business.

    A child process (fork) drops what its parent held; the parent sends it. `close` in a child
    closes the child's socket, and the parent's connection goes on. When the program ends, what is
    held is sent within a second, or it is said on stderr that it was not.
    """

    _sock: socket.socket
    _is_closed: bool

    def __new__(cls, sock: socket.socket, **knobs: Unpack[KnobArguments]) -> Self:
        """Raise TypeError or ValueError for a socket or a knob that cannot be used."""
        native = native_knobs(**(_DEFAULTS | knobs), without=tick)
        check_connected_stream(sock)
        set_nodelay(sock, knobs.get("strategy", adaptive))
        self = super().__new__(
            cls, sock.fileno(), native, sock.gettimeout, ConnectionFailedError, DeliveryTimeoutError
        )
        self._sock = sock
        self._is_closed = False
        _flush_at_end_of_children()
        return self

    def __init__(self, sock: socket.socket, **knobs: Unpack[KnobArguments]) -> None:
        """Everything is done in `__new__`."""

    def close(self, timeout_s: float | None = None) -> None:
        """Deliver what was sent, then close the connection and the socket.

        Returns when the peer's kernel has acknowledged everything. Raises DeliveryTimeoutError when
        it has not in time, ConnectionFailedError when it never will; the socket is closed anyway.
        """
        if self._is_closed:
            return
        try:
            # Whoever else closes meanwhile waits for the same.
            super().close(timeout_s)
        finally:
            self._is_closed = True
            self._sock.close()

    def fileno(self) -> int:
        """The socket's descriptor; -1 when it is closed."""
        return self._sock.fileno()

    def stats(self) -> Stats:
        """What happened so far."""
        return stats_of(self)

    def __enter__(self) -> Self:
        """The end of the block closes."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """As `close`."""
        self.close()


@atexit.register
def _flush_at_exit() -> None:
    for reason in _native.flush_all_at_exit():
        print(f"tinygram: at exit, of a CoalescingSocket: {reason}", file=sys.stderr)


def _flush_at_end_of_children() -> None:
    """Children of multiprocessing end without atexit, and have finalizers of their own instead."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        _have_finalizers(util)


@cache
def _have_finalizers(util: ModuleType) -> None:
    # A child clears the finalizers that it inherits, and then calls what is registered.
    util.register_after_fork(_flush_at_exit, _flush_when_child_ends)
    if sys.modules["multiprocessing.process"].parent_process() is not None:
        _flush_when_child_ends(_flush_at_exit)


def _flush_when_child_ends(flush: Callable[[], None]) -> None:
    sys.modules["multiprocessing.util"].Finalize(None, flush, exitpriority=0)
