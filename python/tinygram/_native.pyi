"""The native module: thin classes over crates/core and crates/net, primitives in and out.

Times are CLOCK_MONOTONIC in nanoseconds. Calls that may block or run long release the GIL.
"""

from collections.abc import Callable, Sequence
from typing import Self, TypeAlias, final

from _typeshed import ReadableBuffer
from typing_extensions import disjoint_base

from tinygram._native_diag import SocketDiag, SocketProbe, proc_sockets, socket_options

__all__ = [
    "Batch",
    "CoalescingSocket",
    "Histogram",
    "Knobs",
    "MessagePool",
    "Outbox",
    "Pacer",
    "Receiver",
    "StreamCheck",
    "Ticker",
    "__version__",
    "count_writes_library",
    "create_network_namespace",
    "die_with_parent",
    "enter_network_namespace",
    "flush_all_at_exit",
    "match_flat_out",
    "match_paced",
    "offline_optimum",
    "read_notes",
    "scheduled_messages",
    "send_flat_out",
    "send_paced",
    "send_queue_bytes",
    "set_process_name",
    "tcp_info",
    "watch_writes",
    "write_counts",
]
__all__ += ["SocketDiag", "SocketProbe", "proc_sockets", "socket_options"]

__version__: str

_StatsParts: TypeAlias = tuple[int, int, int, int, list[tuple[str, int]], Histogram]

@final
class Knobs:
    """A strategy and its bounds, checked; ValueError names what is outside its range."""

    def __new__(
        cls,
        strategy: str,
        hold_ns: int | None,
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
        says it: it was taken, what is unwritten is still held, and `flush` tries again.
        """

    def poll(self) -> None:
        """Write what is held if it is time. Raises as `send`."""

    def flush(self) -> None:
        """Write what is held. Raises as `send`."""

    @property
    def deadline_ns(self) -> int | None:
        """When to call `poll` at the latest, CLOCK_MONOTONIC; None: nothing is held."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are held."""

    @property
    def untold_bytes(self) -> int:
        """Bytes that are held, and the last write did not fail."""

    def stats_parts(self) -> _StatsParts:
        """messages, writes, bytes, overruns, flushes by reason, holds."""

@disjoint_base
class CoalescingSocket:
    """What many threads send on one connection; `tinygram.threads` says what it promises.

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
        """As `sendall`; the message's length, in bytes."""

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until the kernel has all. DeliveryTimeoutError, ConnectionFailedError."""

    def close(self, timeout_s: float | None = None) -> None:
        """Take no more, wait until the peer's kernel has all (errors as of `flush`), and end it."""

    def abort(self) -> int:
        """Take no more messages and forget those that are held; how many bytes that was."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are held."""

    def stats_parts(self) -> _StatsParts:
        """messages, writes, bytes, overruns, flushes by reason, holds."""

def flush_all_at_exit() -> list[str]:
    """Wait a second at most until no CoalescingSocket holds anything; why some still do.

    From now on each send waits until the kernel has its message.
    """

@final
class Ticker:
    """The connections of one event loop that hold something, and what ends their holds."""

    def __new__(cls, schedule: Callable[[Callable[[], object]], object] | None = None) -> Ticker:
        """`schedule(tick)` asks for `tick()` in the next iteration; None: there is one in each."""

    @property
    def has_timer(self) -> bool:
        """Whether there is a descriptor to watch."""

    def timer_fd(self) -> int:
        """The descriptor to watch: readable when `on_timer()` is to be called."""

    def tick(self) -> None:
        """An iteration ends, and the loop may have more to do."""

    def select(self, epoll_fd: int, timeout_s: float | None) -> list[tuple[int, int]]:
        """`tick`, then wait for what is ready: (descriptor, 1 to read + 2 to write)."""

    def on_timer(self) -> None:
        """The timer's time has come."""

    def flush(self) -> None:
        """Write all that is held, whatever it waits for."""

@final
class Outbox:
    """What an event loop's connection holds back.

    `fd`: where the kernel takes bytes; None: `write_below(bytes)` takes them all, which otherwise
    takes what the kernel did not. `on_full(was_refused)`: a message was held, refused or passed on,
    for the transport below is full. `check_thread()` is called when another thread than before
    writes: it calls `adopt_thread()` or raises. `is_loop_closed`: None where a closed loop leaves
    its connections' descriptors open.
    """

    def __new__(
        cls,
        knobs: Knobs,
        fd: int | None,
        ticker: Ticker,
        write_below: Callable[[bytes], object],
        on_full: Callable[[bool], object],
        check_thread: Callable[[], object],
        is_loop_closed: Callable[[], bool] | None,
    ) -> Outbox: ...
    def write(self, data: ReadableBuffer, /) -> None:
        """As `Batch.send`, but it never waits, and errors of the connection are told below."""

    def flush(self) -> None:
        """Write all that is held, through the transport below where the kernel does not take it."""

    def flush_last(self) -> None:
        """The connection ends: write what the kernel takes, unless other bytes come first."""

    def release(self) -> None:
        """The connection is gone: let go of the callbacks; later messages are ignored."""

    def divert(self) -> None:
        """From now on messages go straight to the transport below."""

    def undivert(self) -> None:
        """Hold messages again."""

    def discard(self) -> int:
        """The end: what is held is forgotten; how many bytes that was."""

    def on_blocked(self) -> None:
        """The transport below has bytes of its own."""

    def on_writable(self) -> None:
        """The transport below has none any more."""

    def set_max_bytes(self, max_bytes: int) -> None:
        """A batch this large leaves at once."""

    def adopt_thread(self) -> None:
        """The calling thread is the one that may write."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are held."""

    @property
    def errno(self) -> int | None:
        """The first error that a write met."""

    def stats_parts(self) -> _StatsParts:
        """As `Batch.stats_parts`."""

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
        """Take all of `other`'s values away; ValueError when some are not here."""

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

@final
class MessagePool:
    """The seeded messages of every stream, repeated without end (crates/core, pool.rs)."""

    def __new__(cls, seed: int, min_bytes: int, max_bytes: int, producers: int = 1) -> MessagePool:
        """With several producers message i is that of i modulo them, and its first byte says so.

        ValueError unless 1 ≤ min_bytes ≤ max_bytes ≤ 1 GiB and 1 ≤ producers ≤ 256, and there is a
        message for each.
        """

    def messages(self) -> list[bytes]:
        """The pool's messages, in the stream's order."""

    def stream_bytes(self, count: int) -> int:
        """The bytes of the stream's first `count` messages."""

    @property
    def producers(self) -> int: ...
    @property
    def message_count(self) -> int: ...

@final
class StreamCheck:
    """Compares a stream, as it arrives, with the first `messages` messages of a pool."""

    def __new__(cls, pool: MessagePool, messages: int) -> StreamCheck: ...
    def push(self, chunk: bytes) -> None:
        """Compare the next bytes; ValueError names the offset of the first wrong one."""

    def finish(self) -> None:
        """The stream has ended; ValueError unless every byte arrived."""

def match_flat_out(
    notes: bytes,
    pool: MessagePool,
    hand_overs: list[tuple[int, int]],
    turns: bytes | None = None,
) -> Histogram:
    """Match sampled messages, (index in the stream, hand-over ns), to a receiver's notes.

    `turns`: whose each message was, as they came, where the pool has several producers.
    Returns the histogram of hand-over to receipt. ValueError: notes that are cut off or go
    backwards, a message that no note reaches, or one received before it was handed over.
    """

def match_paced(
    notes: bytes,
    pool: MessagePool,
    first_message: int,
    start_ns: int,
    rate_per_s: float,
    arrival: str,
    burst: int,
    duration_ns: int,
    seed: int,
    turns: bytes | None = None,
    late_ns: Sequence[int] | None = None,
) -> Histogram:
    """Match every message of a schedule to a receiver's notes, from its intended send time.

    `turns`, what it does not tell of, and ValueError as for `match_flat_out`, and for a schedule
    that cannot be made. Returns the histogram of intended time (+ `late_ns` of each) to receipt.
    """

def read_notes(notes: bytes, since_ns: int) -> tuple[int, int, int]:
    """(reads since `since_ns`, bytes at the last note, time of the last note in ns).

    ValueError: notes that are cut off or go backwards.
    """

def scheduled_messages(
    rate_per_s: float, arrival: str, burst: int, duration_ns: int, seed: int
) -> int:
    """How many messages a schedule holds; ValueError when it cannot be made."""

def offline_optimum(
    rate_per_s: float,
    arrival: str,
    burst: int,
    duration_ns: int,
    seed: int,
    write_cost_ns: int,
) -> tuple[int, int]:
    """(ns that all messages wait together, writes) of the plan for which their sum is least.

    Each write counts as `write_cost_ns`; the plan knows the whole schedule beforehand, and its
    writes take no time (Dooly, Goldman and Scott, JACM 2001). ValueError as above.
    """

@final
class Pacer:
    """Says which messages of a schedule are due: never early, everything that is due.

    Ranges are (first, one past the last) of the schedule's messages, empty when equal.
    """

    def __new__(
        cls,
        rate_per_s: float,
        arrival: str,
        burst: int,
        duration_ns: int,
        seed: int,
        share: tuple[int, int] | None = None,
        sleeps: bool = False,
    ) -> Pacer:
        """Make the schedule, or of it only messages first, first + step, … (`share`).

        With a share or `sleeps` it does not spin; with `sleeps` there is `late_ns`. ValueError.
        """

    def start(self, start_ns: int) -> None:
        """Let the schedule start at this time."""

    def wait(self, until_ns: int | None = None) -> tuple[int, int]:
        """Block until something is due, or until `until_ns`."""

    def take_due(self) -> tuple[int, int]:
        """Release what is due now, without waiting."""

    def timer_fd(self) -> int:
        """A timerfd for an event loop: readable when `on_timer` should be called."""

    def arm(self, spins: bool) -> bool:
        """Set the timer for the next due time; False when all are released.

        With `spins` it is set early, and `on_timer` waits out the rest (at most 100 µs), which
        holds the event loop up.
        """

    def on_timer(self) -> tuple[int, int]:
        """The timer is readable: release what is due."""

    def errors(self) -> Histogram:
        """Due (or asked for, if that was later) to released: of each; `late_ns`: in their order."""

    def late_ns(self) -> list[int]: ...
    @property
    def is_finished(self) -> bool: ...
    @property
    def releases(self) -> int:
        """Wake-ups that released something."""

    @property
    def last_due_ns(self) -> int:
        """When the last message is due, in ns after the start."""

    @property
    def spin_cpu_ns(self) -> int:
        """CPU time spent spinning: the bench's own, not the sender's."""

@final
class Receiver:
    """Waits for one connection on a fresh port of 127.0.0.1 and reads it to its end."""

    def __new__(cls, congestion_control: str) -> Receiver:
        """OSError when no port or no such congestion control is to be had."""

    @property
    def port(self) -> int: ...
    def receive(
        self,
        check: StreamCheck,
        messages: int,
        warm_up: int,
        buffer_bytes: int,
        compares: bool = True,
    ) -> list[tuple[str, int]]:
        """Read the whole stream, `buffer_bytes` at most in a read; named counters.

        What is used is counted from the end of the first `warm_up` messages. `messages` sizes the
        notes' memory. OSError: the connection failed, or what arrived is not what was sent.
        RuntimeError at a second call.
        """

    def turns(self) -> bytes:
        """Whose each message was, as they came; empty for a stream of one producer."""

    def notes(self) -> bytes:
        """A note for each read: pairs of little-endian u64 (bytes so far, ns)."""

def send_flat_out(
    fd: int, pool: MessagePool, first: int, last: int, max_bytes: int | None = None
) -> list[int]:
    """Send messages first … last−1 on a blocking socket; the time of every 64th hand-over, ns.

    A write for each message, or with `max_bytes` for what gathers to so many bytes. OSError.
    """

def send_paced(
    fd: int, pool: MessagePool, first: int, pacer: Pacer, max_bytes: int | None = None
) -> None:
    """Send what the pacer releases, from message `first` on. OSError."""

def die_with_parent(parent_pid: int) -> None:
    """Be killed when the parent dies; OSError when it already has."""

def set_process_name(name: str) -> None:
    """Name this process, as ps and pgrep show it (15 bytes are kept)."""

def create_network_namespace() -> tuple[int, int]:
    """Make a network namespace whose loopback is up: descriptors of (ours, the new one).

    The caller stays where it is. OSError (EPERM) without CAP_SYS_ADMIN.
    """

def enter_network_namespace(fd: int) -> None:
    """Move the calling thread into a namespace; processes that it starts are born there."""

def count_writes_library() -> bytes:
    """The shared library that counts a process's writes when it is preloaded."""

def watch_writes(fd: int) -> bool:
    """Count the writes to the socket `fd` from now on; False where the library is not preloaded.

    All descriptors that this process has of the socket now are watched. OSError.
    """

def write_counts() -> tuple[int, int, int] | None:
    """(writes, bytes, calls that found the buffer full) so far; None where not preloaded."""

def send_queue_bytes(fd: int) -> int:
    """Bytes in a TCP socket's send queue, not sent or not acknowledged (SIOCOUTQ). OSError."""

def tcp_info(fd: int) -> list[tuple[str, int]]:
    """Named fields of TCP_INFO, units in the names. OSError when `fd` is no TCP socket."""
