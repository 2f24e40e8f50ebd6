"""Coalescing for many threads that send on one connection."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading
from collections.abc import Callable
from functools import cache
from types import ModuleType, TracebackType
from typing import Self
from weakref import WeakValueDictionary

from tinygram import _native
from tinygram.errors import ConnectionFailedError, DeliveryTimeoutError
from tinygram.sockets import check_connected_stream, set_nodelay
from tinygram.stats import Stats, stats_of
from tinygram.strategies import Strategy, adaptive, native_knobs, tick

# Besides the write, a batch costs a switch to the writing thread and back: larger ones pay.
_MAX_BYTES = 256 << 10


@_native.with_message_methods
class CoalescingSocket(_native.CoalescingSocket):
    """Sends whole messages from any thread on one connected stream socket, in the order of calls.

        sock = tinygram.CoalescingSocket(socket.create_connection(address))
        sock.send(frame)            # from any thread
        sock.send_many(frames)      # the same for each, and cheaper
        sock.close(timeout_s=5)     # delivered, or an error that says what was not

    While the connection is idle, a few messages are written by the thread that sends them. What
    gathers is written by one native thread of the process, which needs no GIL, or by the next
    thread that sends, where the native one is late.

    `send` waits only while `max_buffered_bytes` (1 MiB) are held, for at most the socket's timeout
    (then TimeoutError); with a non-blocking one it raises BlockingIOError at once. Reading is the
    socket's own business.

    A connection has one `CoalescingSocket` at a time: another is refused until this one is closed
    or aborted, or is gone and what it held has been sent. Bytes that bypass it, by `sock.send` or
    `os.write` on the same descriptor, overtake those that are held.

    `strategy` says when messages leave. A batch of `max_bytes` leaves at once, no message is held
    longer than `max_hold_us` microseconds (None: as the strategy says), and at most
    `max_buffered_bytes` are held (None: 1 MiB).

    A forked child process drops what its parent held; the parent sends it. `close` in a child
    closes the child's socket, and the parent's connection goes on. When the program ends, what is
    held is sent within a second, or a message on stderr says that it was not.
    """

    _sock: socket.socket
    _is_closed: bool
    _identity: tuple[int, int]

    def __new__(
        cls,
        sock: socket.socket,
        *,
        strategy: Strategy = adaptive,
        max_bytes: int = _MAX_BYTES,
        max_hold_us: float | None = None,
        max_buffered_bytes: int | None = None,
    ) -> Self:
        """Raise TypeError or ValueError for a socket or a knob that cannot be used."""
        native = native_knobs(strategy, max_bytes, max_hold_us, max_buffered_bytes, without=tick)
        check_connected_stream(sock)
        self = super().__new__(
            cls, sock.fileno(), native, sock.gettimeout, ConnectionFailedError, DeliveryTimeoutError
        )
        self._sock = sock
        self._is_closed = False
        _claim(self)
        set_nodelay(sock, strategy)
        _flush_at_end_of_children()
        return self

    def close(self, timeout_s: float | None = None) -> None:
        """Deliver what was sent, then close the connection and the socket.

        Returns when the peer's kernel has acknowledged everything. Raises DeliveryTimeoutError when
        this takes longer than `timeout_s` seconds (None: no limit), and ConnectionFailedError when
        it will never happen; the socket is closed in any case.
        A second descriptor of the connection is closed when nothing refers to this object any more.
        """
        if self._is_closed:
            return
        try:
            # Another thread that closes meanwhile waits for the same.
            super().close(timeout_s)
        finally:
            self._is_closed = True
            _release(self)
            self._sock.close()

    def abort(self) -> int:
        """Take no more messages and drop those that are held; returns how many bytes were dropped.

        The socket stays open and may get another `CoalescingSocket`; `close` closes the socket.
        """
        dropped_bytes = super().abort()
        _release(self)
        return dropped_bytes

    def fileno(self) -> int:
        """The socket's descriptor; -1 when it is closed."""
        return self._sock.fileno()

    def __del__(self) -> None:
        """Keep what is held: it is sent before another sender may have the connection."""
        if self.held_bytes:
            _leave(self)

    def stats(self) -> Stats:
        """Return the numbers of messages, writes and bytes so far, and of writes by reason."""
        return stats_of(self)

    def __enter__(self) -> Self:
        """Begin a block, at the end of which the socket is closed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close without a timeout; see `close`."""
        self.close()


_senders: WeakValueDictionary[tuple[int, int], CoalescingSocket] = WeakValueDictionary()
"""Connection → its sender. The key is the connection's inode, which all its descriptors share."""
_leftovers: dict[tuple[int, int], _native.Leftover] = {}
"""Connection → what a sender that is gone has still to send."""
_senders_lock = threading.RLock()
os.register_at_fork(
    before=_senders_lock.acquire,
    after_in_parent=_senders_lock.release,
    after_in_child=_senders_lock.release,
)


def _claim(sender: CoalescingSocket) -> None:
    """Make `sender` the only one on its connection: two would mix the parts of their messages.

    Raises ValueError when there is one already.
    """
    about = os.fstat(sender.fileno())
    identity = about.st_dev, about.st_ino
    with _senders_lock:
        if _senders.get(identity) is not None:
            raise ValueError(
                f"{sender._sock!r} already has a CoalescingSocket: share that one among the "
                "threads, or close it first"
            )
        _forget_what_was_sent()
        if (leftover := _leftovers.get(identity)) is not None:
            raise ValueError(
                f"{sender._sock!r} had a CoalescingSocket, which is gone: {leftover.held_bytes} "
                "bytes that it held are still to be sent; close it next time"
            )
        # Nobody else gets the inode meanwhile: the native half keeps a descriptor of its own.
        _senders[identity] = sender
    sender._identity = identity


def _release(sender: CoalescingSocket) -> None:
    with _senders_lock:
        if _senders.get(sender._identity) is sender:
            del _senders[sender._identity]


def _leave(sender: CoalescingSocket) -> None:
    with _senders_lock:
        _forget_what_was_sent()
        _leftovers[sender._identity] = sender._leftover()


def _forget_what_was_sent() -> None:
    for identity, leftover in list(_leftovers.items()):
        if not leftover.held_bytes:
            # Meanwhile the garbage collector may have found a sender, which removes entries here,
            # too.
            _leftovers.pop(identity, None)


@atexit.register
def _flush_at_exit() -> None:
    for reason in _native.flush_all_at_exit():
        print(f"tinygram: at exit, of a CoalescingSocket: {reason}", file=sys.stderr)


def _flush_at_end_of_children() -> None:
    """Flush at the end of multiprocessing's children, which run finalizers instead of atexit."""
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


# The child's parent may have imported multiprocessing after it had made its sockets.
os.register_at_fork(after_in_child=_flush_at_end_of_children)
