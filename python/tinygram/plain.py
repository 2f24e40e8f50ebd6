"""Coalescing for a plain loop: one thread, one blocking socket."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tinygram import _native
from tinygram.sockets import check_connected_stream, set_nodelay
from tinygram.stats import Stats, stats_of
from tinygram.strategies import Strategy, adaptive, native_knobs


@_native.with_message_methods
class Batch(_native.Batch):
    """Sends or holds messages for one connected socket; made by `batch`.

    What is held leaves when `max_bytes` have gathered, when `poll` is called at or after
    `deadline_ns`, at `flush`, and at the end of the `with` block. `send` checks the deadline, too,
    but where messages come fast it reads the clock only for some of them, and may notice a deadline
    as late as at the kernel's next clock tick (1 to 10 ms). Only one thread at a time may use a
    batch.

    After the end of the block `send` raises ValueError, since nobody would write what it holds; a
    new `with` block takes messages again. Bytes that bypass the batch, by `sock.send` or `os.write`
    on the same descriptor, overtake held messages: call `flush` first.
    """

    _sock: socket.socket

    def __new__(
        cls,
        sock: socket.socket,
        *,
        strategy: Strategy = adaptive,
        max_bytes: int = 64 << 10,
        max_hold_us: float | None = None,
        max_buffered_bytes: int | None = None,
    ) -> Self:
        """Make a batch; see `batch` for the arguments and the errors."""
        native = native_knobs(strategy, max_bytes, max_hold_us, max_buffered_bytes)
        check_connected_stream(sock)
        timeout_s = sock.gettimeout()
        if timeout_s == 0:
            raise ValueError(
                "the socket is non-blocking: set a timeout, or use an event loop and "
                "tinygram.open_connection"
            )
        set_nodelay(sock, strategy)
        self = super().__new__(cls, sock.fileno, native, timeout_s)
        self._sock = sock
        return self

    def __del__(self, _warn: Callable[..., None] = warnings.warn) -> None:
        """Warn of bytes that were lost."""
        if unsent_bytes := self._untold_bytes:
            _warn(
                f"{unsent_bytes} bytes held for {self._sock!r} were never sent: use `with`, or "
                "flush()",
                RuntimeWarning,
                source=self,
            )

    def stats(self) -> Stats:
        """Return the numbers of messages, writes and bytes so far, and of writes by reason."""
        return stats_of(self)

    def __enter__(self) -> Self:
        """Begin a block, at the end of which held messages are written."""
        self._begin_block()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write what is held, even when the block failed, and take no more messages.

        Raises what `flush` raises; `flush` may then be called again.
        """
        self._end_block()
        self.flush()


def batch(
    sock: socket.socket,
    *,
    strategy: Strategy = adaptive,
    max_bytes: int = 64 << 10,
    max_hold_us: float | None = None,
    max_buffered_bytes: int | None = None,
) -> Batch:
    """Coalesce what a plain loop sends on `sock`, a connected blocking stream socket.

        with tinygram.batch(sock) as out:
            for message in messages:
                out.send(message)

    For messages that exist already, `out.send_many(messages)` costs less.

    A loop that waits for more to send should wait until `out.deadline_ns` (CLOCK_MONOTONIC) at the
    latest and then call `out.poll()`, so that nothing is held beyond its time.

    `strategy` says when messages leave. A batch of `max_bytes` leaves at once, no message is held
    longer than `max_hold_us` microseconds (None: as the strategy says), and at most
    `max_buffered_bytes` are held for a peer that takes nothing (None: no limit). Raises ValueError
    or TypeError for a socket or a knob that cannot be used.
    """
    return Batch(
        sock,
        strategy=strategy,
        max_bytes=max_bytes,
        max_hold_us=max_hold_us,
        max_buffered_bytes=max_buffered_bytes,
    )
