"""The part of the stub of `_native` that `rr` needs (crates/load/src/rr); not a module."""

from collections.abc import Sequence
from typing import final

from tinygram_bench._native import Admission, Histogram

_Span = tuple[int, int | None, int, int | None, int]
"""Its start, in a slice when it has settled, its end, the most calls of each caller, and the case's
own time at its start."""
_Tally = tuple[
    list[tuple[str, int]],
    list[tuple[str, Histogram]],
    list[tuple[list[int], int, int, int]],
]
"""Named counters (`last_ns` is a time), named histograms in ns, and of each slice how long each
measured call took, the callers' time in these, and when the last call ended, in ns, and how many
calls there were, measured or not."""

@final
class CallContent:
    """The bytes of each request and of each reply (crates/load, calls.rs).

    A connection's requests are 0, 1, 2 … of a seeded pool, again and again. Byte j of the reply to
    a connection's request i is (i + j) modulo 251.
    """

    def __new__(
        cls,
        request_bytes: int,
        reply_bytes: int,
        seed: int | None = None,
        *,
        has_any_replies: bool = False,
    ) -> CallContent:
        """Without a seed any bytes are a request, and any are a reply where that is said.

        ValueError unless sizes are 1 B to 16 MiB.
        """

    @property
    def request_count(self) -> int:
        """How many different requests there are; 0 without a seed."""

    def request(self, index: int) -> bytes:
        """Request `index` of a connection; empty without a seed."""

    def replies(self, first: int, count: int) -> bytes:
        """`count` replies of a connection from reply `first` on. ValueError: too many."""

    def is_reply(self, index: int, data: bytes) -> bool:
        """Whether `data` is the whole reply to request `index` of a connection."""

@final
class RequestReader:
    """Counts one connection's requests as they come, and compares them where it knows them."""

    def __new__(cls, content: CallContent) -> RequestReader: ...
    def push(self, data: bytes) -> int:
        """Take the next bytes; returns how many requests they complete. ValueError: wrong bytes."""

    @property
    def is_between_requests(self) -> bool:
        """Whether no request has begun that has not come to its end."""

@final
class RrServer:
    """The native server: one event loop on one thread, on 127.0.0.1 unless told another `host`.

    With `max_connections` open, the one that made no progress for longest is closed for a new one;
    one that makes none for `idle_ns` is closed anyway.
    """

    def __new__(
        cls,
        content: CallContent,
        *,
        port: int,
        backlog: int,
        is_nodelay: bool,
        is_quickack: bool,
        congestion_control: str,
        max_connections: int,
        idle_ns: int,
        host: str = "127.0.0.1",
        client: Admission | None = None,
    ) -> RrServer:
        """Listen; with port 0 the kernel picks one. OSError when it is not available.

        `client`: connections of others are closed at once, and counted.
        """

    @property
    def port(self) -> int: ...
    def run(self, stop_fd: int) -> list[tuple[str, int]]:
        """Serve until `stop_fd` is readable; named counters.

        OSError when it cannot be watched; RuntimeError at a second call.
        """

@final
class CallBook:
    """When the calls of a process are due, in ns of the case's own time, and which were begun.

    Call i of the process is that of caller i modulo their number (crates/load, agenda.rs).
    """

    LATE_NS: int
    """How long after its span what has come due in it may still be begun."""

    def __new__(
        cls,
        rate_per_s: float,
        arrival: str,
        duration_ns: int,
        seed: int,
        share: tuple[int, int],
        callers: int,
    ) -> CallBook:
        """`share`: (number of the process, how many there are); their calls follow in turn.

        ValueError: such a schedule cannot be.
        """

    def of(self, caller: int) -> list[int]:
        """When the calls of one caller are due."""

    def begin_span(self, span: _Span) -> None:
        """The next calls are begun in this span."""

    def next_due_at_ns(self) -> int | None:
        """When the next call of the span comes due, CLOCK_MONOTONIC; None: no other does."""

    def release(self) -> int | None:
        """The next caller whose call has come due by now; None: no other has."""

    def has_due(self, caller: int) -> bool:
        """Whether a caller's next call has come due. ValueError."""

    def take(self, caller: int) -> int | None:
        """Begin the caller's next call: when it came due.

        None where none has, or the span is over. ValueError.
        """

    def not_begun(self, caller: int) -> list[int]:
        """When the calls of a caller were due that it has not begun. ValueError."""

@final
class CallLog:
    """What one caller that is not native did in slices, or at a rate (crates/load, rr/log.rs)."""

    def __new__(cls, *, is_at_a_rate: bool = False) -> CallLog: ...
    def note(self, span: int, times: tuple[int, int, int], due_ns: int | None = None) -> None:
        """A call was made, which began in the span of that number. `times`: those of `CallTimes`.

        `due_ns`: at a rate, when it was due, in ns of the case's own time.
        """

    def end(self, not_begun_ns: Sequence[int]) -> None:
        """At a rate, say when the calls were due that it could not begin, in ns of own time."""

    @staticmethod
    def add_up(logs: Sequence[CallLog], spans: Sequence[_Span]) -> _Tally:
        """What callers did together; at a rate, times count from when calls were due."""

@final
class RrCallers:
    """The native callers: a thread each, or one for those that share a connection, or have many."""

    def __new__(
        cls,
        content: CallContent,
        *,
        host: str,
        port: int,
        callers: int,
        connections: str,
        depth: int,
        sends_per_request: int,
        is_nodelay: bool,
        congestion_control: str,
        warm_up_calls: int,
        give_up_ns: int,
        own: Admission | None = None,
        is_ring: bool = False,
    ) -> RrCallers:
        """Connect and warm up; `connections`: per-request, per-caller, shared or many.

        `own`: by what the server knows their connections. `is_ring`: on many connections
        requests and reads are handed over by io_uring(7).

        OSError: a call failed, or they were not ready at `give_up_ns`. ValueError.
        """

    @property
    def warm_up_call_ns(self) -> int:
        """How long a call took in the warm-up on average; 0 where there was none."""

    def keep_to(self, book: CallBook) -> None:
        """From the start on, make calls when they are due by the book."""

    def run(self, spans: Sequence[_Span]) -> _Tally:
        """Call in each span. OSError: as before; RuntimeError at a second call."""
