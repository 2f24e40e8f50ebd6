"""The part of the stub of `_native` that `stream` needs; not a module."""

from collections.abc import Sequence
from typing import final

from tinygram_bench._native import Admission, Histogram

@final
class MessagePool:
    """The seeded messages of every stream, repeated without end (crates/load, pool.rs)."""

    def __new__(
        cls, seed: int, min_bytes: int, max_bytes: int, producers: int = 1, connections: int = 1
    ) -> MessagePool:
        """On several connections message i goes over connection i modulo them. With several
        producers message i is that of i modulo them, and its first byte says so.

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

    def __new__(cls, pool: MessagePool, messages: int, may_end_early: bool = False) -> StreamCheck:
        """With `may_end_early` the stream may end after any of its messages."""

    def push(self, chunk: bytes) -> None:
        """Compare the next bytes; ValueError names the offset of the first wrong one."""

    def finish(self) -> None:
        """The stream has ended; ValueError unless every byte of every message arrived."""

    def turns(self) -> bytes:
        """Whose each message was, as they came; empty for a pool of one producer."""

def match_flat_out(
    notes: bytes,
    pool: MessagePool,
    hand_overs: list[tuple[int, int]],
    turns: bytes | None = None,
    bound_ns: int = 0,
) -> tuple[Histogram, int]:
    """Match sampled messages, (index in the stream, hand-over ns), to a receiver's notes.

    `turns`: whose each message was, as they came, where the pool has several producers. `bound_ns`:
    by how much the notes' times may be wrong. Returns the histogram of hand-over to receipt, and by
    how much a message came before it was handed over, at most; that counts as 0 in the histogram.
    ValueError: notes that are cut off or go backwards, a message that no note reaches, or one that
    was received before it was handed over by more than `bound_ns`.
    """

def match_flat_out_sliced(
    notes: bytes,
    pool: MessagePool,
    hand_overs: list[tuple[int, int]],
    start_ns: int,
    table: tuple[Sequence[int], int, int],
    middle_ns: tuple[int, int],
    turns: bytes | None = None,
    bound_ns: int = 0,
) -> tuple[Histogram, list[list[int]], list[tuple[int, int]], int]:
    """`match_flat_out` of a stream in slices: of what was handed over after a slice had settled.

    The histogram; what is in it of each slice, in ns; of each slice how many messages became whole
    in its middle, which is between the times `middle_ns` after its begin, and how long after its
    end its last read came, in ns; and last what `match_flat_out` tells last.
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
    bound_ns: int = 0,
) -> tuple[Histogram, int]:
    """Match every message of a schedule to a receiver's notes, from its intended send time.

    `turns`, what it does not tell of, `bound_ns` and ValueError as for `match_flat_out`, and for a
    schedule that cannot be made. Returns the histogram of intended time (+ `late_ns` of each) to
    receipt, and by how much a message came before that time, at most.
    """

def match_sliced(
    notes: bytes,
    pool: MessagePool,
    first_message: int,
    start_ns: int,
    rate_per_s: float,
    arrival: str,
    burst: int,
    duration_ns: int,
    seed: int,
    slices: tuple[Sequence[int], int, int],
    turns: bytes | None = None,
    late_ns: Sequence[int] | None = None,
    bound_ns: int = 0,
) -> tuple[Histogram, list[list[int]], list[tuple[int, int]], int]:
    """`match_paced` for a `Pacer` with `slices`: the histogram, and the latencies of each slice.

    In ns, without what `late_ns` says of each message. Messages that are due while a slice settles
    are matched, too, and left out of both. Then: how many messages were due in each slice, those
    too, and how long after its end the last of them came; and last what `match_paced` tells last.
    """

def read_notes(notes: bytes, since_ns: int) -> tuple[int, int, int]:
    """(reads since `since_ns`, bytes at the last note, time of the last note in ns).

    ValueError: notes that are cut off or go backwards.
    """

def scheduled_messages(
    rate_per_s: float, arrival: str, burst: int, duration_ns: int, seed: int
) -> int:
    """How many messages a schedule holds; ValueError when it cannot be made."""

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
        spin: str = "alone",
        slices: tuple[Sequence[int], int, int] | None = None,
        push_out_fd: int | None = None,
    ) -> Pacer:
        """Make the schedule, or of it only messages first, first + step, … (`share`).

        `spin`: how the end of a wait passes: `alone` spins, `yielding` spins and leaves the core
        to whoever else wants it, `never` sleeps, `noted` sleeps and has `late_ns`. With a share it
        never spins. `slices`: when the slices begin after the start, how long each is, and how
        much of it settles; the schedule's own time stands still in between. `push_out_fd`: a
        socket of which nothing is withheld between slices. ValueError for an impossible parameter,
        which it names.
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

        With `spins` it is set early, and `on_timer` waits out the rest, 100 µs at most.
        """

    def on_timer(self) -> tuple[int, int]:
        """The timer is readable: release what is due. Empty: it will be readable again."""

    def spin_cpu_ns_by_slice(self) -> list[int]:
        """The CPU time spun in each slice, settling or not; empty without slices."""

    def errors(self) -> Histogram:
        """How long after it was due, or asked for if that was later, each message was released."""

    def late_ns(self) -> list[int]: ...
    def errors_by_slice_ns(self) -> list[list[int]]:
        """`errors` of what was due in each slice, once it has settled; empty without slices."""

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
    """Waits for one connection on a fresh port, or has one already, and reads it to its end."""

    def __new__(
        cls, congestion_control: str, host: str = "127.0.0.1", sender: Admission | None = None
    ) -> Receiver:
        """`host`: an IP address of this host, or ValueError.

        Connections that are not of `sender` are ended, and counted.

        OSError when no port or no such congestion control is available.
        """

    @staticmethod
    def connected(fds: list[int]) -> Receiver:
        """What reads connected sockets, in the order of their numbers; their owner may close them.

        OSError where a descriptor is none.
        """

    @property
    def port(self) -> int:
        """The port that it listens on; 0: it does not."""

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

    def receive_on_many(
        self,
        pool: MessagePool,
        messages: int,
        warm_up: int,
        buffer_bytes: int,
        may_end_early: bool,
    ) -> list[tuple[str, int]]:
        """The same of a stream on all connections of the pool, each with its number in front.

        OSError where one fails, or brings another byte than was sent; it is named.
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

def send_in_slices(
    fd: int,
    pool: MessagePool,
    first: int,
    last: int,
    table: tuple[Sequence[int], int, int],
    start_ns: int,
    max_bytes: int | None = None,
) -> tuple[list[int], int]:
    """`send_flat_out` in slices: when each begins, how long it is, and what is of no use here.

    The first cycle begins at `start_ns`, CLOCK_MONOTONIC. Returns the times of hand-overs, and how
    many messages were sent. OSError; ValueError for a table that is none.
    """

def send_paced(
    fd: int, pool: MessagePool, first: int, pacer: Pacer, max_bytes: int | None = None
) -> None:
    """Send what the pacer releases, from message `first` on. OSError."""

@final
class ManyConnections:
    """Sends the messages of a pool, message i on connection i modulo their number, natively.

    `is_ring`: by io_uring(7), otherwise by a send call for each message. The sockets stay open as
    long as this. Every method raises OSError where a connection is lost, or takes nothing for
    `patience_ns`.
    """

    def __new__(
        cls, fds: list[int], is_ring: bool, pool: MessagePool, patience_ns: int
    ) -> ManyConnections: ...
    def send_flat_out(self, first: int, last: int) -> list[int]:
        """Send messages `first` … `last` − 1; when every 64th was handed over, in ns."""

    def send_in_slices(
        self, first: int, last: int, table: tuple[Sequence[int], int, int], start_ns: int
    ) -> tuple[list[int], int]:
        """The same while slices are open, and how many were sent."""

    def send_paced(self, first: int, pacer: Pacer) -> None:
        """Send what the pacer releases, from message `first` of the stream on."""

    def calls(self) -> tuple[int, int]:
        """System calls that handed bytes to the kernel, and those that found a buffer full."""
