"""The transport that holds messages back, above the event loop's own.

Laws: the transport below owns the connection. Bytes reach the kernel in order: ours go straight to
the descriptor only while the transport below has none of its own, which it tells by `pause_writing`
and `resume_writing`: its limits are as low as they can be.
"""

from __future__ import annotations

import asyncio
import os
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from tinygram import _native
from tinygram.aio.end_of_tls import hand_over_before_end
from tinygram.aio.water_marks import water_marks
from tinygram.sockets import set_nodelay
from tinygram.stats import Stats, stats_of

try:
    from tinygram.aio.established_tls import established
except (ImportError, AttributeError):  # The TLS of this Python is not as that module knows it.

    def established(transport: Any, lent_socket: socket.socket | None = None) -> Any:  # noqa: ARG001
        return transport


if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from tinygram.aio.connection import Connection, Settings


class Transport(asyncio.Transport):
    """An `asyncio.Transport` that holds messages back; `stats()` tells what it did.

    Connections and event loops of tinygram make it; programs never do. Bytes that bypass it, by
    `os.write` on the same descriptor for example, overtake those that are held.
    """

    __slots__ = (
        "__weakref__",
        "_abort_error",
        "_connection",
        "_context",
        "_diversions",
        "_inner",
        "_is_aborted",
        "_is_blocked",
        "_is_lost",
        "_is_paused",
        "_is_tls",
        "_loop",
        "_marks",
        "_outbox",
        "_written",
        "write",
    )

    _start_tls_compatible = True

    write: Callable[[ReadableBuffer], None]  # type: ignore[assignment]
    """Send the message or hold it, like `asyncio.Transport.write`; it may be changed afterwards.

    Raises BufferError when `max_buffered_bytes` would be exceeded, and RuntimeError in a thread
    that does not run the event loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        inner: asyncio.Transport,
        connection: Connection,
        ticker: _native.Ticker,
    ) -> None:
        # The base's `__init__` is not called: it makes a dictionary for what the transport below
        # tells.
        settings = connection.settings
        self._loop = loop
        self._inner = inner
        self._connection = connection
        self._context: Context | None = None
        self._is_paused = False
        self._is_aborted = False
        self._abort_error: Exception | None = None
        self._is_blocked = False
        self._is_lost = False
        self._written: asyncio.Future[None] | None = None
        self._diversions = 0
        self._marks = settings.marks
        is_asyncio = isinstance(loop, asyncio.SelectorEventLoop)
        self._is_tls = is_tls = inner.get_extra_info("sslcontext") is not None
        # TLS pauses when its buffer has at least `high` bytes, a socket when it has more.
        inner.set_write_buffer_limits(high=int(is_tls), low=0)
        fd = None
        sock = inner.get_extra_info("socket")
        if sock is not None:
            if not is_tls:
                fd = sock.fileno()
            # The loops have set TCP_NODELAY: uvloop on all sockets, asyncio on those that name TCP.
            if settings.is_nagle or (is_asyncio and sock.proto != socket.IPPROTO_TCP):
                set_nodelay(sock, settings.strategy)
        self._outbox = outbox = _native.Outbox(
            settings.knobs,
            fd,
            ticker,
            established(inner, connection.lent_socket) if is_tls else inner,
            self,
            # Closing a uvloop closes descriptors, whose numbers may soon be those of other files.
            None if is_asyncio else loop,
            connection.lent_socket,
        )
        if settings.marks.batch_bytes != settings.max_bytes:
            outbox.set_max_bytes(settings.marks.batch_bytes)
        self.write = outbox.write
        if is_tls and is_asyncio:
            hand_over_before_end(inner, self)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} over {self._inner!r}>"

    def __del__(self, _warn: Callable[..., None] = warnings.warn) -> None:
        """Warn of bytes that were lost."""
        try:
            if self._is_lost or self._is_aborted:
                return  # Already reported; and uvloop's transports still count what they dropped.
            unsent_bytes = self.get_write_buffer_size()
        except AttributeError:
            return  # `__init__` has failed.
        # A child process has the transports of its parent, which sends what they hold.
        if unsent_bytes and not self._outbox.is_a_parents:
            self._outbox.discard()
            # Not a ResourceWarning, which is hidden by default: what was written is lost.
            _warn(
                f"{unsent_bytes} bytes of {self!r} were never sent: close it while its event loop "
                "runs",
                RuntimeWarning,
                source=self,
            )

    def stats(self) -> Stats:
        """Return the numbers of messages, writes and bytes so far, and of writes by reason."""
        return stats_of(self._outbox)

    # Writing.

    def writelines(self, list_of_data: Iterable[ReadableBuffer]) -> None:
        """Send or hold the parts as one message, which is also refused as one.

        For many small messages that exist already, this costs less than a `write` for each;
        `send_many` sends them as messages of their own.
        """
        self.write(b"".join(list_of_data))

    def send_many(self, messages: Iterable[ReadableBuffer]) -> None:
        """Send or hold each of the messages, in order, as `write` does; for many this costs less.

        The iterable is read to its end before the first message is sent. Raises what `write`
        raises, and then sends no more: `taken_messages` of the exception says how many messages
        were taken.
        """
        self._outbox.send_many(messages)

    def write_eof(self) -> None:
        """Write what is held, then end the stream; reading goes on."""
        self._hand_over()
        self._inner.write_eof()

    def can_write_eof(self) -> bool:
        """Whether the transport below can end its stream; TLS cannot."""
        return self._inner.can_write_eof()

    def close(self) -> None:
        """Write what is held, then close; the protocol's `connection_lost` follows."""
        self._hand_over()
        # If closed twice, asyncio's TLS forgets its protocol, which is asked for sizes until the
        # end.
        if not self._inner.is_closing():
            self._inner.close()

    def abort(self) -> None:
        """Close at once and drop what is held."""
        self._is_aborted = True
        self._outbox.discard()
        self._inner.abort()

    def _force_close(self, error: Exception | None) -> None:
        """Abort, for a foreign loop whose TLS over this transport failed, and report `error`."""
        self._abort_error = error
        self.abort()

    def is_closing(self) -> bool:
        """Whether the transport is closed or about to be."""
        return self._inner.is_closing()

    def _hand_over(self) -> None:
        """Give the transport below what is held, and from now on every message."""
        self._outbox.hand_over(self._inner.is_closing())

    def _check_thread(self) -> None:
        try:
            is_ours = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_ours = not self._loop.is_running()
        if not is_ours:
            raise RuntimeError(
                "write() was called from a thread that does not run this connection's event "
                "loop: use loop.call_soon_threadsafe(transport.write, data)"
            )
        self._outbox.adopt_thread()

    # Flow control.

    def get_write_buffer_size(self) -> int:
        """How many bytes are held, here and in the transport below."""
        return self._outbox.held_bytes + self._inner.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """The water marks `(low, high)`, in bytes."""
        return self._marks.low_bytes, self._marks.high_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Pause the protocol above `high` bytes, resume it at `low`; what is held counts.

        `high` becomes half of `max_buffered_bytes` at most. Raises ValueError unless `high` ≥ `low`
        ≥ 0.
        """
        settings = self._connection.settings
        self._marks = marks = water_marks(
            high, low, settings.max_bytes, settings.max_buffered_bytes
        )
        self._outbox.set_max_bytes(marks.batch_bytes)
        if self._outbox.held_bytes > marks.high_bytes:
            self._outbox.flush()
        self._check_high()
        if self._is_tls:
            # Like the loops' own transports: those of TLS look at both marks, others only at the
            # high one.
            self._check_low()

    def _check_high(self, was_refused: bool = False) -> None:
        if self._is_paused or not self._is_blocked:
            return  # Unless the transport below is blocked, nothing would resume the protocol.
        if was_refused or self.get_write_buffer_size() > self._marks.high_bytes:
            self._is_paused = True
            pause = self._connection.protocol.pause_writing
            if self._context is None:
                self._tell(pause)
            else:
                self._context.copy().run(self._tell, pause)

    def _check_low(self) -> None:
        if self._is_paused and self.get_write_buffer_size() <= self._marks.low_bytes:
            self._is_paused = False
            self._tell(self._connection.protocol.resume_writing)

    def _tell(self, callback: Callable[[], object]) -> None:
        try:
            callback()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - as asyncio: a protocol's fault ends nothing
            self._loop.call_exception_handler(
                {
                    "message": f"protocol.{callback.__name__}() failed",
                    "exception": error,
                    "transport": self,
                    "protocol": self._connection.protocol,
                }
            )

    @property
    def _settings(self) -> Settings:
        return self._connection.settings

    @property
    def _lent_socket(self) -> socket.socket | None:
        """See `Connection`."""
        return self._connection.lent_socket

    # Calls by the transport below, through the connection.

    def _on_blocked(self) -> None:
        """The transport below has bytes that the kernel does not take."""
        self._is_blocked = True
        if not isinstance(self._loop, asyncio.SelectorEventLoop):
            # uvloop pauses a protocol in the connection's context, asyncio in the writer's.
            self._context = copy_context()
        if self._outbox.on_blocked():
            self._check_high()

    def _on_writable(self) -> None:
        self._is_blocked = False
        self._tell_written()
        self._outbox.on_writable()
        self._check_low()

    def _on_eof(self, is_kept_open: bool) -> None:
        """The peer ended its stream; the transport below closes itself unless it is told otherwise.

        TLS closes itself in any case.
        """
        if self._is_tls or not is_kept_open:
            self._hand_over()

    def _on_lost(self, error: Exception | None) -> Exception | None:
        """The connection is gone: returns the error that the protocol must be told."""
        self._is_lost = True
        self._tell_written()
        if error is None:
            error = self._abort_error
        if isinstance(error, BrokenPipeError) and (errno := self._outbox.errno) is not None:
            # The error that the kernel reported to us, and not to the transport below.
            error = OSError(errno, os.strerror(errno))
        if error is None and self._is_blocked and not self._is_tls:
            # Closing would have written all bytes first: the transport below was aborted, for
            # example by `Server.abort_clients`.
            self._is_aborted = True
        is_unexpected = error is None and not self._is_aborted
        # If so, all was handed over before, or somebody closed the transport below.
        unsent_bytes = self._outbox.end(is_unexpected)
        if unsent_bytes and is_unexpected:
            return ConnectionAbortedError(f"{unsent_bytes} bytes were never sent")
        return error

    def _on_forgotten(self) -> None:
        """The protocol was told: break the cycle of references, to let this be freed at once."""
        self._outbox.release()

    def _on_cancelled(self) -> None:
        """Give up a connection whose making was cancelled; uvloop has closed it without notice."""
        if not isinstance(self._loop, asyncio.SelectorEventLoop):
            self._is_aborted = True
            self._outbox.discard()

    async def _until_written(self) -> None:
        """Sleep while the transport below has bytes that the kernel does not take."""
        while self._is_blocked and not self._is_lost:
            if self._written is None:
                self._written = self._loop.create_future()
            await asyncio.shield(self._written)

    def _tell_written(self) -> None:
        written, self._written = self._written, None
        if written is not None:
            written.set_result(None)

    # The rest is left to the transport below.

    def _below(self) -> asyncio.Transport:
        """Let the event loop's own transport take all writes from now on; returns it."""
        self._hand_over()
        return self._inner

    @contextmanager
    def _diverted(self) -> Iterator[asyncio.Transport]:
        """Let the event loop's own transport take all writes within the block; yields it."""
        self._diversions += 1
        try:
            yield self._below()
        finally:
            self._diversions -= 1
            if not self._diversions and not self._inner.is_closing():
                self._outbox.undivert()
                # A protocol other than ours may have been told of the pauses meanwhile.
                if self._inner.get_write_buffer_size():
                    self._on_blocked()
                else:
                    self._on_writable()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport below knows under `name`, else `default`."""
        return self._inner.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Give `protocol` what is received from now on."""
        self._connection = self._connection.with_protocol(protocol)
        self._inner.set_protocol(self._connection)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """The protocol that was set, or that the factory made."""
        return self._connection.protocol

    def is_reading(self) -> bool:
        """Whether the transport receives."""
        return self._inner.is_reading()

    def pause_reading(self) -> None:
        """Receive nothing until `resume_reading`."""
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        """Receive again."""
        self._inner.resume_reading()
