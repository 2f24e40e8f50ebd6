"""The library's native module: thin classes over crates/core and crates/net, primitives in and out.

Times are CLOCK_MONOTONIC in nanoseconds. Calls that may block or run long release the GIL."""

from asyncio import AbstractEventLoop, BufferedProtocol, WriteTransport
from collections.abc import Callable, Iterable
from socket import socket
from typing import Self, TypeAlias, TypeVar, final

from _typeshed import ReadableBuffer
from typing_extensions import disjoint_base

from tinygram.aio.transport import Transport

__all__ = [
    "Batch",
    "CoalescingSocket",
    "Histogram",
    "Knobs",
    "Leftover",
    "Outbox",
    "StraightTls",
    "Ticker",
    "__version__",
    "flush_all_at_exit",
    "with_message_methods",
]

__version__: str

_Class = TypeVar("_Class", bound=type)
_StatsParts: TypeAlias = tuple[int, int, int, int, list[tuple[str, int]], Histogram]

@final
class Knobs:
    """A strategy and its bounds, checked; ValueError names what is outside its range."""

    def __new__(
        cls,
        strategy: str,
        duration_ns: int | None,
        max_bytes: int,
        max_hold_ns: int | None = None,
        max_buffered_bytes: int | None = None,
    ) -> Knobs: ...

@disjoint_base
class Batch:
    """Sends or holds messages for the blocking socket of `fileno()`, one thread at a time.

    `timeout_s` bounds each write; None: no bound.
    """

    def __new__(
        cls, fileno: Callable[[], int], knobs: Knobs, timeout_s: float | None = None
    ) -> Self: ...
    def send(self, data: ReadableBuffer, /) -> None:
        """Send the message, or hold it; it may be changed afterwards.

        Raises TypeError when it is not bytes-like, BufferError when `max_buffered_bytes` leaves it
        no room: it was not taken. TimeoutError when the timeout ends first, OSError as the kernel
        says it: it was taken, what is unwritten is still held, and `flush` tries again. ValueError
        after the end of the `with` block: it was not taken.
        """

    def send_many(self, messages: Iterable[ReadableBuffer], /) -> None:
        """Send each of the messages, in order, like `send`: for many this costs less.

        The iterable is read to its end before the first is sent. Raises what `send` raises, and
        sends no more then: the exception's `taken_messages`, a whole number, says how many were
        taken, the first so many and nothing of the others.
        """

    def poll(self) -> None:
        """Write what is held if it is time. Raises what `send` raises."""

    def flush(self) -> None:
        """Write what is held. Raises what `send` raises."""

    @property
    def deadline_ns(self) -> int | None:
        """When to call `poll` at the latest, CLOCK_MONOTONIC; None: nothing is held."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are held."""

    @property
    def _untold_bytes(self) -> int:
        """Held bytes that no exception has told the program of; 0 after a failed write."""

    def _begin_block(self) -> None:
        """A `with` block begins: messages are taken."""

    def _end_block(self) -> None:
        """A `with` block ends: from now on `send` raises ValueError."""

    def _stats_parts(self) -> _StatsParts:
        """messages, writes, bytes, overruns, flushes by reason, holds."""

@disjoint_base
class CoalescingSocket:
    """Sends messages of many threads on one connection; `tinygram.threads` says what it promises.

    `failed(errno, acknowledged, unknown, unsent)` and `timed_out(unknown, unsent)` make the
    exceptions, of numbers of bytes. OSError for a strategy that threads do not have.
    """

    def __new__(
        cls,
        fd: int,
        knobs: Knobs,
        timeout: Callable[[], float | None],
        failed: Callable[[int, int, int, int], BaseException],
        timed_out: Callable[[int, int], BaseException],
    ) -> Self: ...
    def sendall(self, data: ReadableBuffer, /) -> None:
        """Take the message, whole: written now, or held.

        Waits while `max_buffered_bytes` are held: TimeoutError or BlockingIOError as the socket's
        timeout says. ConnectionFailedError; OSError (EBADF) when it is closed.
        """

    def send(self, data: ReadableBuffer, /) -> int:
        """Send like `sendall`; returns the message's length, in bytes."""

    def send_many(self, messages: Iterable[ReadableBuffer], /) -> None:
        """Send each of the messages, in order, like `sendall`: for many this costs less.

        The iterable is read to its end before the first is sent; other threads' messages may come
        between. Raises what `sendall` raises, and sends no more then: the exception's
        `taken_messages` says how many were taken. After ConnectionFailedError these are the
        messages whose bytes it counts.
        """

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until the kernel has all. DeliveryTimeoutError, ConnectionFailedError."""

    def close(self, timeout_s: float | None = None) -> None:
        """Take no more, wait until the peer's kernel has all (errors: see `flush`), and end it."""

    def abort(self) -> int:
        """Take no more messages and forget those held; returns how many bytes that was."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are held."""

    def _stats_parts(self) -> _StatsParts:
        """messages, writes, bytes, overruns, flushes by reason, holds."""

    def _leftover(self) -> Leftover:
        """A handle to what is held, which outlives this object."""

def with_message_methods(cls: _Class, /) -> _Class:
    """Give a subclass of `Batch` or `CoalescingSocket` methods `send` and `sendall` of its own.

    They do what those that it inherits do, and cost less: CPython calls `sock.send(message)` the
    short way only where `send` is a method of the very class of `sock`. TypeError: it is no such
    subclass.
    """

@final
class Leftover:
    """What a CoalescingSocket that is gone has still to send."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are held."""

def flush_all_at_exit() -> list[str]:
    """Wait a second at most until no CoalescingSocket holds anything; returns why some still do.

    From now on each send waits until the kernel has its message.
    """

@final
class Ticker:
    """The connections of one event loop that hold something, and what ends their holds."""

    def __new__(cls, asked_loop: AbstractEventLoop | None = None, epoll_fd: int = ...) -> Ticker:
        """`asked_loop.call_soon` asks for a call in the next iteration; it is not kept alive.

        None: the loop calls `poll` or `select` in each, which look at `epoll_fd`.
        """

    @property
    def has_timer(self) -> bool:
        """Whether there is a descriptor to watch."""

    def timer_fd(self) -> int:
        """The descriptor to watch: when it is readable, call `on_timer()`."""

    __call__: Callable[[], None]
    """An iteration ends, and the loop may have more to do. What a slot takes cannot be shown."""

    def poll(self) -> list[tuple[int, int]] | None:
        """End an iteration; what is ready: (descriptor, 1 to read + 2 to write), or None."""

    def select(self, timeout_s: float | None, /) -> list[tuple[int, int]] | None:
        """End an iteration, then wait for what is ready, as `poll` tells it."""

    def on_timer(self) -> None:
        """The timer's time has come."""

    def flush(self) -> None:
        """Write all that is held, whatever it waits for."""

    def let_close(self) -> None:
        """In a child process: let close the sockets kept open for what the parent holds."""

@final
class Outbox:
    """The messages that a connection of an event loop holds back.

    `fd`: where the kernel takes bytes; None: `below.write(bytes)` takes them all, which otherwise
    takes what the kernel did not. `transport` is ours: `_check_high(was_refused)` is called when a
    message was held, refused or passed on, for the transport below is full, and `_check_thread()`
    when another thread than before writes: it calls `adopt_thread()` or raises. `closing_loop`:
    None where a closed loop leaves its connections' descriptors open. `lent_socket`: the one that
    the program gave, and may close; it stays open while something is held.
    """

    def __new__(
        cls,
        knobs: Knobs,
        fd: int | None,
        ticker: Ticker,
        below: WriteTransport,
        transport: Transport,
        closing_loop: AbstractEventLoop | None,
        lent_socket: socket | None,
    ) -> Outbox: ...
    def write(self, data: ReadableBuffer, /) -> None:
        """Send like `Batch.send`, but never wait; errors of the connection are told below."""

    def send_many(self, messages: Iterable[ReadableBuffer], /) -> None:
        """Send each of the messages, in order, as `write` does; see `Batch.send_many`."""

    def flush(self) -> None:
        """Write all that is held, through the transport below where the kernel does not take it."""

    def hand_over(self, is_closing: bool) -> None:
        """From now on messages go straight to the transport below; what is held goes there first.

        A transport that is closing takes nothing.
        """

    def end(self, writes_last: bool) -> int:
        """The connection ends: forget what is held; returns how many bytes that was.

        If `writes_last`, first write what the kernel still takes, unless the transport below has
        bytes of its own.
        """

    @property
    def is_a_parents(self) -> bool:
        """Whether a parent process made it, and sends what it holds."""

    def release(self) -> None:
        """The connection is gone: let go of the callbacks; later messages are ignored."""

    def undivert(self) -> None:
        """Hold messages again."""

    def discard(self) -> int:
        """Forget what is held, and hold no more; returns how many bytes that was."""

    def on_blocked(self) -> bool:
        """The transport below has bytes of its own."""

    def on_writable(self) -> None:
        """The transport below has no bytes any more."""

    def set_max_bytes(self, max_bytes: int) -> None:
        """A batch this large leaves at once."""

    def adopt_thread(self) -> None:
        """From now on only the calling thread may write."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are held."""

    @property
    def errno(self) -> int | None:
        """The first error that a write met."""

    def _stats_parts(self) -> _StatsParts:
        """See `Batch`."""

@final
class StraightTls:
    """Established TLS of asyncio over a socket, with OpenSSL and the kernel called directly.

    Whatever is unusual is left to `tls`, an `EstablishedTls`, and to the transport below it.
    """

    @staticmethod
    def of(
        tls: BufferedProtocol,
        below: WriteTransport,
        encryption: object,
        established: object,
        lent_socket: socket | None = None,
    ) -> StraightTls | None:
        """None where OpenSSL cannot be called, or the connection is not laid out as known.

        `below`: the transport below, a `_SelectorSocketTransport` of asyncio; `encryption`: the
        `_ssl._SSLSocket` of `tls`; `established`: the state of `tls` in which the handshake is
        over; `lent_socket`: the one that the program gave, and may close.
        """

    def write(self, data: ReadableBuffer, /) -> None:
        """Encrypt the message and send it."""

    def read_ready(self) -> None:
        """Receive what has come, decrypt it, and give it to the protocol."""

@final
class Histogram:
    """An HDR histogram of nanoseconds with 3 significant digits (http://hdrhistogram.org)."""

    def __new__(cls) -> Histogram: ...
    @staticmethod
    def from_base64(text: str) -> Histogram:
        """Read the standard V2 (compressed) base64 form; ValueError when it is not one."""

    def to_base64(self) -> str:
        """The standard V2 compressed base64 form."""

    def record(self, value_ns: int) -> None:
        """Add one value; values above one hour count as one hour."""

    def merge(self, other: Histogram) -> None:
        """Add all of `other`'s values."""

    def subtract(self, other: Histogram) -> None:
        """Subtract all of `other`'s values; ValueError when some are not here."""

    def percentile_ns(self, percentile: float) -> int:
        """The value that `percentile` (0 … 100) of all values do not exceed; 0 when empty."""

    @property
    def count(self) -> int: ...
    @property
    def min_ns(self) -> int: ...
    @property
    def max_ns(self) -> int: ...
    @property
    def mean_ns(self) -> float: ...
